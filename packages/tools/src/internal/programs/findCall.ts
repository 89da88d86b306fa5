/** Parses the expression of `find`: where it searches, what it runs, and whether it does anything besides searching. */
import type { CallWord } from "./readCall.ts"

/** What find runs for its matches. */
export interface FindCall<Word> {
  /** The first word that is not known to be harmless. */
  readonly unknown: string | undefined
  readonly starts: ReadonlyArray<Word>
  /** Commands in which `{}` is the match. */
  readonly runs: ReadonlyArray<ReadonlyArray<Word>>
  /** The names that it searches for, if it can find no others. */
  readonly names: ReadonlyArray<string>
}

const alone = new Set(
  `-a -and -o -or -not ! ( ) , -print -print0 -ls -prune -quit -true -false -empty -depth -d -mount -xdev -noleaf -readable -writable
  -executable -nouser -nogroup -daystart -ignore_readdir_race -noignore_readdir_race -nowarn -warn -P --help -help --version
  -version`.split(/\s+/)
)

const valued = new Set(
  `-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -atime -ctime -mmin -amin -cmin
  -perm -user -group -uid -gid -links -inum -fstype -maxdepth -mindepth -printf -lname -ilname -used -newermt -newerat -newerct -newerBt
  -D`.split(/\s+/)
)

/** Tests whose value is a file. */
const files = new Set(["-newer", "-anewer", "-cnewer", "-samefile"])

/** Parses the arguments. */
export const findCall = <Word extends CallWord>(args: ReadonlyArray<Word>): FindCall<Word> => {
  const starts: Array<Word> = []
  const runs: Array<ReadonlyArray<Word>> = []
  const names: Array<string> = []
  let unknown: string | undefined
  let at = 0
  while (args[at]?.text === "-P") at++
  for (let word = args[at]; word !== undefined && !/^[-(),!]/.test(word.text); word = args[++at]) starts.push(word)
  const isPlain = !args.some(({ text }) => /^(?:-o|-or|!|-not|,|\(|-iname)$/.test(text))
  for (; at < args.length; at++) {
    const word = args[at] as Word
    const { text } = word
    const value = args[at + 1]
    if (word.fixed && alone.has(text)) continue
    if (word.fixed && valued.has(text) && value?.fixed === true) {
      if (text === "-name" && isPlain) names.push(value.text)
      at++
    } else if (word.fixed && files.has(text) && value?.fixed === true) {
      starts.push(value)
      at++
    } else if (word.fixed && text === "-exec") {
      const end = args.findIndex((each, n) => n > at && /^[;+]$/.test(each.text))
      const run = args.slice(at + 1, end)
      if (end < 0 || run.length === 0) unknown ??= text
      else runs.push(run)
      at = Math.max(end, at)
    } else unknown ??= text
  }
  return { unknown, starts, runs, names: names.length === 1 ? names : [] }
}
