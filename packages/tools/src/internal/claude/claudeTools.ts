/**
 * Translates tool calls into the format of Claude Code, whose hooks expect its tool names and arguments, and back;
 * decides which names a matcher of Claude Code matches.
 */
import { lookup } from "@skein/domain/Lookup"
import * as Either from "effect/Either"
import { resolve } from "node:path"
import { createContext, Script } from "node:vm"
import { type FilePatch, parsePatch } from "../edit/parsePatch.ts"

/** How long matching a name may take, in milliseconds: the expression is untrusted. */
const timeout = 100

/** How many results of one expression are cached. */
const maximumKnown = 1_000

const script = new Script("new RegExp(matcher).test(name)")

const tested = (matcher: string, name: string): Either.Either<boolean, string> =>
  Either.try({
    try: () => script.runInContext(createContext({ matcher, name }), { timeout }) === true,
    catch: (error) => `its matcher ${JSON.stringify(matcher)} cannot be used: ${String(error)}`
  })

/** Reads a matcher. Matching a name gives a `left` value if the matcher cannot be used. */
export const claudeMatcher = (matcher = ""): (name: string) => Either.Either<boolean, string> => {
  if (matcher === "" || matcher === "*") return () => Either.right(true)
  if (/^[\w|]+$/.test(matcher)) {
    const names = new Set(matcher.split("|"))
    return (name) => Either.right(names.has(name))
  }
  const known = new Map<string, Either.Either<boolean, string>>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const answer = tested(matcher, name)
    if (known.size < maximumKnown) known.set(name, answer)
    return answer
  }
}

/** A call in the format that Claude Code's hooks get. */
export interface ClaudeCall {
  /** Names that a matcher may use for it. The first one that matches is passed on. */
  readonly names: ReadonlyArray<string>
  readonly input: unknown
  /** Whether an input that a hook changed can be translated back. */
  readonly changeable: boolean
}

type Fields = Readonly<Record<string, unknown>>

interface ToolForm {
  readonly names: ReadonlyArray<string>
  /** Arguments by Skein's names and Claude Code's; the others have the same names. */
  readonly fields?: Readonly<Record<string, string>>
}

const file = { filePath: "file_path" }

const forms = lookup<ToolForm>({
  bash: { names: ["Bash"] },
  read: { names: ["Read"], fields: file },
  write: { names: ["Write"], fields: file },
  edit: {
    names: ["Edit", "MultiEdit"],
    fields: { ...file, oldString: "old_string", newString: "new_string", replaceAll: "replace_all" }
  },
  glob: { names: ["Glob"] },
  grep: { names: ["Grep"] },
  list: { names: ["LS"] },
  task: { names: ["Task", "Agent"] },
  webfetch: { names: ["WebFetch"] },
  todowrite: { names: ["TodoWrite"] },
  todoread: { names: ["TodoRead"] },
  skill: { names: ["Skill"], fields: { name: "skill" } },
  question: { names: ["AskUserQuestion"] }
})

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const renamed = (input: Fields, names: Readonly<Record<string, string>>): Fields =>
  Object.fromEntries(Object.entries(input).map(([key, value]) => [names[key] ?? key, value]))

/** Claude Code uses absolute paths. */
const placed = (input: Fields, cwd: string): Fields =>
  typeof input["file_path"] === "string" ? { ...input, file_path: resolve(cwd, input["file_path"]) } : input

const side = (hunks: FilePatch["hunks"], without: "+" | "-"): string =>
  hunks.flatMap(({ lines }) => lines.flatMap(({ sign, text }) => sign === without ? [] : [text])).join("\n")

/** Claude Code has no tool for patches, so a patch is passed on as edits, one for each of its files. */
const patchCalls = (text: string, cwd: string): ReadonlyArray<ClaudeCall> =>
  Either.match(parsePatch(text), {
    // A patch that cannot be parsed is not applied either.
    onLeft: () => [],
    onRight: (files) =>
      files.flatMap((each) => {
        const [old, next] = [side(each.hunks, "+"), side(each.hunks, "-")]
        const paths = each.kind === "update" && each.to !== undefined ? [each.path, each.to] : [each.path]
        return paths.map((path) => ({
          names: each.kind === "add" ? ["Write", "Edit", "MultiEdit"] : ["Edit", "MultiEdit", "Write"],
          input: {
            file_path: resolve(cwd, path),
            ...(each.kind === "add" ? { content: next } : { old_string: old, new_string: next })
          },
          changeable: false
        }))
      })
  })

/** The calls that hooks see for this one: one, or several for a patch of several files. */
export const claudeCalls = (tool: string, input: unknown, cwd: string): ReadonlyArray<ClaudeCall> => {
  if (tool === "patch" && isFields(input) && typeof input["patchText"] === "string") {
    return patchCalls(input["patchText"], cwd)
  }
  const form = forms[tool]
  const renamedInput = isFields(input) ? placed(renamed(input, form?.fields ?? {}), cwd) : input
  return [{ names: form?.names ?? [tool], input: renamedInput, changeable: tool !== "patch" }]
}

/** Translates arguments of Claude Code to those of a tool here. */
export const ownInput = (tool: string, input: Fields): Fields => {
  const fields = Object.entries(forms[tool]?.fields ?? {})
  return renamed(input, Object.fromEntries(fields.map(([ours, theirs]) => [theirs, ours])))
}
