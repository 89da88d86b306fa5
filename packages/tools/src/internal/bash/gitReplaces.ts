/**
 * Finds the protected files that the git calls of a line would replace. In the sandbox they are read-only, and git would
 * stop half way.
 */
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { realpathSync } from "node:fs"
import { join, relative, resolve } from "node:path"
import { attempt } from "../disk.ts"
import { makeGit } from "../git/gitCommand.ts"
import { isProtected } from "../protectedNames.ts"
import { gitCall } from "./gitCall.ts"
import { shownAs } from "./gitReads.ts"
import { mayBeNamed } from "./gitShown.ts"
import type { Invocation } from "./parts.ts"
import type { Places } from "./places.ts"
import { gitDirectories } from "./repositoryRisks.ts"

/** What a call replaces: the files of these calls of `git diff`, or `any` file, within these paths. */
interface Replaced {
  readonly diffs: ReadonlyArray<ReadonlyArray<string>>
  readonly any?: boolean
  readonly paths?: ReadonlyArray<string>
}

const nothing: Replaced = { diffs: [] }
const anything: Replaced = { diffs: [], any: true }

const commands =
  /^(?:am|apply|bisect|checkout|checkout-index|cherry-pick|clean|filter-branch|merge|mv|pull|read-tree|rebase|reset|restore|revert|rm|sparse-checkout|stash|switch)$/

/** Commands that replace nothing in these forms. */
const harmless: Readonly<Record<string, RegExp>> = {
  apply: /^--(?:check|stat|numstat|summary|cached)$/,
  clean: /^(?:-[a-zA-Z]*n[a-zA-Z]*|--dry-run)$/,
  mv: /^(?:-n|--dry-run)$/,
  rm: /^(?:--cached|-n|--dry-run)$/
}

/** What the words behind a command replace. */
const replacedBy = (sub: string, words: ReadonlyArray<string>): Replaced => {
  const end = words.includes("--") ? words.indexOf("--") : words.length
  const before = words.slice(0, end).map((each) => each === "-" ? "@{-1}" : each)
  const has = (form: RegExp) => before.some((each) => form.test(each))
  const operands = before.filter((each) => !each.startsWith("-"))
  const paths = words.slice(end + 1)
  const [first = ""] = operands
  if (has(/^--(?:continue|abort|skip)$/)) return anything
  if (harmless[sub] !== undefined && has(harmless[sub])) return nothing
  switch (sub) {
    case "checkout":
    case "restore":
    case "switch": {
      if (has(/^(?:-S|--staged)$/) && !has(/^(?:-W|--worktree)$/)) return nothing
      const source = before.flatMap((each) => /^--source=(.+)$/.exec(each)?.[1] ?? [])
      const discards = end < words.length || has(/^(?:-f|--force|--discard-changes)$/) ? [["HEAD"]] : []
      return {
        diffs: [
          ...[...operands, ...source].map((each) => ["HEAD", each, "--"]),
          ["HEAD", "--", ...operands],
          ...discards
        ],
        paths
      }
    }
    case "reset":
      return has(/^--(?:hard|merge|keep)$/)
        ? { diffs: [["HEAD"], ...operands.map((each) => ["HEAD", each, "--"])] }
        : nothing
    case "merge":
    case "rebase": {
      const others = operands.length === 0 ? ["@{upstream}"] : operands
      const back = sub === "rebase" ? others.map((each) => [`${each}...HEAD`, "--"]) : []
      return { diffs: [...others.map((each) => [`HEAD...${each}`, "--"]), ...back] }
    }
    case "cherry-pick":
    case "revert":
      return { diffs: operands.map((each) => [each.includes("..") ? each : `${each}^!`, "--"]) }
    case "stash": {
      if (/^(?:list|show|drop|clear|create|store)$/.test(first)) return nothing
      if (!/^(?:apply|pop|branch)$/.test(first)) {
        return { diffs: [["HEAD"]], any: has(/^(?:-[a-z]*[au]|--include-untracked|--all)$/), paths }
      }
      const stash = (operands.length > 1 ? operands.at(-1) : undefined) ?? "stash@{0}"
      return { diffs: [[`${stash}^1`, stash, "--"]] }
    }
    case "mv":
    case "rm":
      return { ...anything, paths: [...operands, ...paths] }
    case "bisect":
      return /^(?:log|view|visualize|terms)$/.test(first) ? nothing : anything
    default:
      return anything
  }
}

/** Makes it. Answers with the files: their real paths, by those in the session's directory. */
export const makeGitReplaces = Effect.fnUntraced(function*(
  environment: Readonly<Record<string, string | undefined>>
) {
  const { run } = yield* makeGit(environment)
  const git = (directory: string, args: ReadonlyArray<string>) =>
    run({ directory }, args).pipe(
      Effect.map(({ code, stdout }) => code === 0 ? stdout.split(/[\0\n]/).filter((name) => name !== "") : []),
      Effect.orElseSucceed((): ReadonlyArray<string> => [])
    )

  return Effect.fnUntraced(function*(
    invocations: ReadonlyArray<Invocation>,
    places: Places,
    directory: string,
    reading: (path: string) => Action
  ) {
    const top = attempt(() => realpathSync(directory), directory)
    const replaced = new Map<string, string>()
    for (const { args, program } of invocations) {
      const words = args.map(({ text }) => text)
      const at = program === "git" ? words.findIndex((each) => commands.test(each)) : -1
      if (at < 0) continue
      const { any = false, diffs, paths = [] } = args.every(({ fixed }) => fixed)
        ? replacedBy(words[at] ?? "", words.slice(at + 1))
        : anything
      for (const place of any || diffs.length > 0 ? yield* gitDirectories(places, top, gitCall(args)) : []) {
        const [root = place] = yield* git(place, ["rev-parse", "--show-toplevel"])
        const limits = paths.map((each) => join(relative(root, place), each))
        const looks = [
          ...any ? [["ls-files", "--cached", "--others", "-z"]] : [],
          ...diffs.map((each) => ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z", ...each])
        ]
        for (const look of looks) {
          for (const name of yield* git(root, look)) {
            const path = shownAs(top, relative(top, join(root, name)))
            const isKept = isProtected(path) || reading(path) !== "allow"
            if (isKept && mayBeNamed(limits, name)) replaced.set(path, resolve(top, path))
          }
        }
      }
    }
    return replaced
  })
})
