/** The tool `skill`: offers skills by name and description, and returns the text of one, or a file from its folder. */
import * as FileSystem from "@effect/platform/FileSystem"
import { Agent } from "@skein/core/Agent"
import { Skill, type SkillInfo } from "@skein/core/Instructions"
import { evaluate } from "@skein/core/Ruleset"
import { define, type Tool, type ToolCaller } from "@skein/core/Tool"
import { nearest } from "@skein/domain/Lookup"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isUtf8 } from "node:buffer"
import { join, relative, resolve, sep } from "node:path"
import { isBinary } from "./FileKind.ts"
import { wholeFile } from "./internal/files/wholeFile.ts"
import { cannot, refuse } from "./internal/refusal.ts"

/** How many files are listed, and how deeply they are searched for. */
const most = { files: 100, depth: 5 }

/** The maximum size of a file, in bytes. */
const longest = 1024 * 1024

const isInside = (folder: string, path: string): boolean => {
  const below = relative(folder, path)
  return below !== "" && below !== ".." && !below.startsWith(`..${sep}`)
}

/** The files of a skill as sorted paths below its folder, without hidden ones, up to the limit. */
export const filesOf = Effect.fnUntraced(function*(fs: FileSystem.FileSystem, folder: string) {
  const found: Array<string> = []
  let isCut = false
  const walk = (directory: string, depth: number): Effect.Effect<void> =>
    Effect.gen(function*() {
      const names = yield* Effect.orElseSucceed(fs.readDirectory(directory), () => [])
      for (const name of names.toSorted()) {
        if (name.startsWith(".") || name === "node_modules") continue
        const path = join(directory, name)
        const real = yield* Effect.orElseSucceed(fs.realPath(path), () => "")
        if (real !== path) continue
        const type = yield* Effect.orElseSucceed(
          Effect.map(fs.stat(path), (info) => info.type),
          () => "Unknown" as const
        )
        if (type === "Directory" && depth < most.depth) yield* walk(path, depth + 1)
        if (type !== "File" || path === join(top, "SKILL.md")) continue
        isCut ||= found.length >= most.files
        if (isCut) return
        found.push(relative(top, path).split(sep).join("/"))
      }
    })
  const top = yield* Effect.orElseSucceed(fs.realPath(folder), () => folder)
  yield* walk(top, 1)
  return isCut ? [...found, "(and more)"] : found
})

/** The contents of a file in a skill's folder. */
export const readBeside = Effect.fnUntraced(
  function*(fs: FileSystem.FileSystem, { folder, name }: SkillInfo, file: string) {
    const failed = cannot("read", file)
    if (file.includes("\0")) return yield* refuse("bad_path", "A path must not contain a NUL character. Leave it out.")
    const top = yield* Effect.mapError(fs.realPath(folder), failed)
    const path = yield* Effect.mapError(fs.realPath(resolve(top, file)), failed)
    if (!isInside(top, path)) {
      return yield* refuse("outside", `${file} is not in the folder of the skill ${name}. Use read for other files.`)
    }
    const found = yield* Effect.mapError(wholeFile(path, longest), failed)
    if (found.type === "large" || (found.type === "file" && found.bytes.length > longest)) {
      return yield* refuse("too_large", `${file} is longer than 1 MiB. Use read, which shows files in pieces.`)
    }
    if (found.type !== "file") {
      return yield* refuse("not_a_file", `${file} is not a file. Name one of the skill's files.`)
    }
    const { bytes } = found
    return isBinary(bytes) || !isUtf8(bytes)
      ? yield* refuse("binary", `${file} is not text in UTF-8, so it is not shown.`)
      : bytes.toString("utf8")
  }
)

const description =
  `Gives you a skill: how a kind of work is done here, written down by people. Read the skill that fits before you begin such
work; its text takes the place of what you would do otherwise. With file you read another file of its folder.`

const Parameters = Schema.Struct({
  name: Schema.NonEmptyString.annotations({ description: "The name of the skill" }),
  file: Schema.optional(
    Schema.NonEmptyString.annotations({ description: "A file that the skill names, as a path below its folder" })
  )
})

/** The parameters of `skill`. */
export interface SkillInput extends Schema.Schema.Type<typeof Parameters> {}

/** The maximum length of all descriptions, and of one, in characters: every request pays for them. */
const room = { all: 8_000, one: 300 }

const lineOf = ({ description: text, name }: SkillInfo): string => {
  const words = text.replace(/\s+/g, " ").trim()
  return `- ${name}: ${words.length > room.one ? `${words.slice(0, room.one)}…` : words}`
}

/** The list of skills; and the number of those that did not fit. */
const offered = (skills: ReadonlyArray<SkillInfo>): string => {
  const lines: Array<string> = []
  let left = room.all
  for (const skill of skills) {
    const line = lineOf(skill)
    left -= line.length + 1
    if (left < 0) break
    lines.push(line)
  }
  const more = skills.length - lines.length
  return [description, "", "Skills:", ...lines, ...(more === 0 ? [] : [`(${more} more are not shown here.)`])].join(
    "\n"
  )
}

/** Makes `skill`. */
export const makeSkill: Effect.Effect<Tool<SkillInput>, never, Agent | FileSystem.FileSystem | Skill> = Effect.gen(
  function*() {
    const skills = yield* Skill
    const agents = yield* Agent
    const fs = yield* FileSystem.FileSystem

    const find = Effect.fnUntraced(function*({ name }: SkillInput, caller: ToolCaller) {
      const { broken, skills: all } = yield* skills.list(caller.directory)
      const found = all.find((each) => each.name === name)
      if (found !== undefined) return found
      const wrong = broken.find((each) => each.name === name)
      if (wrong !== undefined) {
        return yield* refuse("broken", `The skill ${name} cannot be used: ${wrong.message}. Go on without it.`)
      }
      const names = all.map((each) => each.name)
      const meant = nearest(name, names)
      return yield* refuse(
        "not_found",
        `There is no skill ${JSON.stringify(name)}. ${
          meant === undefined ? `Skills: ${names.join(", ")}` : `Did you mean ${meant}?`
        }`
      )
    })

    return define<SkillInput>({
      name: "skill",
      describe: Effect.fnUntraced(function*(caller) {
        const { skills: all } = yield* skills.list(caller.directory)
        if (all.length === 0) return undefined
        const rules = yield* Effect.match(agents.get(caller.agent), { onFailure: () => [], onSuccess: agents.rules })
        const allowed = all.filter(({ name }) => evaluate(rules, "skill", name) !== "deny")
        return allowed.length === 0 ? undefined : offered(allowed)
      }),
      parameters: Parameters,
      effect: "safe",
      title: ({ file, name }) => file === undefined ? name : `${name}/${file}`,
      authorise: (input, caller) =>
        Effect.map(find(input, caller), ({ name, origin }) => [
          { permission: "skill", patterns: [name], always: [name], metadata: { name, from: origin } }
        ]),
      execute: Effect.fnUntraced(function*(input, context) {
        const skill = yield* find(input, context)
        const metadata = { name: skill.name, from: skill.origin }
        if (input.file !== undefined) {
          const output = yield* readBeside(fs, skill, input.file)
          return { title: `${skill.name}/${input.file}`, output, metadata: { ...metadata, file: input.file } }
        }
        const files = yield* filesOf(fs, skill.folder)
        const beside = files.length === 0
          ? []
          : ["", `Files in its folder, ${skill.folder}:`, ...files.map((file) => `- ${file}`)]
        return { title: skill.name, output: [`Skill ${skill.name}:`, "", skill.text, ...beside].join("\n"), metadata }
      })
    })
  }
)
