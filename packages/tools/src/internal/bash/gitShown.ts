/** Decides which git calls show the contents of tracked files, and of which. Rules for reading apply to those files. */
import * as Wildcard from "@skein/core/Wildcard"
import { posix } from "node:path"
import { gitCall } from "./gitCall.ts"
import type { Invocation } from "./parts.ts"

/** What a call shows. */
export interface Shown {
  /** Whether it may show files of any commit. */
  readonly ever: boolean
  /** Words that may be paths. Only those that exist limit what is shown. */
  readonly paths: ReadonlyArray<string>
  /** Words that are paths, whether they exist or not. */
  readonly surePaths: ReadonlyArray<string>
}

const patch =
  /^(?:-p|-u|--patch|-U.*|--unified|-W|--function-context|-c|--cc|--remerge-diff|--color-words|--word-diff|--binary|-L)$/

/** Options that show only names or figures. */
const summary =
  /^(?:--stat|--numstat|--shortstat|--dirstat|--summary|--compact-summary|--name-only|--name-status|--raw|-s|--no-patch|--check|--quiet|-q)$/

const isShown = (sub: string, options: ReadonlyArray<string>, operands: ReadonlyArray<string>): boolean => {
  const patches = options.some((each) => patch.test(each))
  const summed = options.some((each) => summary.test(each))
  switch (sub) {
    case "blame":
    case "grep":
    case "cat-file":
      return !(sub === "cat-file" && options.some((each) => /^-[ets]$/.test(each)))
        && !(sub === "grep" &&
          options.some((each) =>
            /^(?:-[lLcq]|--(?:files-with(?:out)?-match(?:es)?|name-only|count|quiet))$/.test(each)
          ))
    case "diff":
    case "show":
      return patches || !summed
    case "diff-files":
    case "diff-index":
    case "diff-tree":
    case "log":
    case "range-diff":
    case "reflog":
    case "whatchanged":
      return patches || sub === "range-diff"
    case "stash":
      return patches && /^(?:list|show)$/.test(operands[0] ?? "")
    case "rebase":
      return options.includes("--show-current-patch")
    case "commit":
    case "status":
      return options.some((each) => /^(?:-v|--verbose)$/.test(each))
    default:
      return false
  }
}

/** What a git call shows of tracked files; `undefined` if nothing. */
export const shownBy = ({ args, call, program, risk }: Invocation): Shown | undefined => {
  if (program !== "git" || call === undefined || call.unknown !== undefined || risk !== undefined) return undefined
  const { directories, sub = "" } = gitCall(args)
  const operands = call.operands.map(({ text }) => text)
  if (!isShown(sub, call.options, operands)) return undefined
  const inside = (text: string) =>
    text.startsWith(":") ? text : posix.join(...directories.map((each) => each.text), text)
  const end = args.findIndex(({ text }) => text === "--")
  const behind = end < 0 ? [] : args.slice(end + 1).map(({ text }) => text)
  const before = operands.slice(sub === "grep" && !call.options.includes("-e") ? 1 : 0, operands.length - behind.length)
  // A file that is named with its commit is checked by its name.
  if (/^(?:show|cat-file)$/.test(sub) && before.length > 0 && before.every((text) => /^[^:]+:[^:]/.test(text))) {
    return undefined
  }
  const isOfNow = /^(?:status|grep|blame)$/.test(sub) || (sub === "diff" && before.length === 0) || sub === "diff-files"
  const limits = sub !== "cat-file" && sub !== "stash" && sub !== "range-diff"
  return {
    ever: !isOfNow || before.some((text) => /^[0-9a-f]{4,40}$|[~^:@]|\.\.|HEAD/.test(text)) ||
      (sub !== "blame" && !limits),
    paths: limits ? before.map(inside) : [],
    surePaths: limits ? behind.map(inside) : []
  }
}

const isPattern = (text: string): boolean => /[*?[\\]/.test(text)

const fits = (path: string, name: string): boolean => {
  const plain = posix.normalize(path).replace(/\/$/, "")
  return plain === "." || name === plain || name.startsWith(`${plain}/`) ||
    (isPattern(path) && Wildcard.glob(path, name))
}

/** Whether these pathspecs may include a file; without pathspecs, every file. */
export const mayBeNamed = (specifications: ReadonlyArray<string>, name: string): boolean => {
  const excluded = specifications.flatMap((each) => /^:(?:[!^]|\(exclude\))([^:([].*)$/.exec(each)?.[1] ?? [])
  // In pathspecs, git interprets brackets and backslashes, so such patterns exclude nothing here.
  if (excluded.some((each) => !/[[\\]/.test(each) && fits(each, name))) return false
  const named = specifications.filter((each) => !/^:(?:[!^]|\(exclude\))/.test(each))
  return named.length === 0 || named.some((each) => each.startsWith(":") || /[[\\]/.test(each) || fits(each, name))
}
