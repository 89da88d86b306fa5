/** Colours a line of code by what nearly all languages share: comments, strings, numbers and words with a meaning. */
import type { Style } from "../../Style.ts"
import type { Run } from "./runs.ts"

const words = new Set(
  ("abstract and as async await break case catch class const continue def default del delete do done elif else end enum " +
    "esac export extends false fi final finally fn for from func function if impl implements import in interface is lambda let " +
    "match mod module mut namespace new nil none not null of or package pass private protected pub public raise return select " +
    "self static struct super switch then this throw throws trait true try type typeof undefined union unless until use using " +
    "val var void when where while with yield None True False SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE JOIN ON")
    .split(" ")
)

/** Languages in which `#` begins a comment, and those in which `--` does. */
const hashes =
  /^(?:sh|bash|zsh|shell|console|py|python|rb|ruby|yaml|yml|toml|dockerfile|make|makefile|perl|r|elixir|ini|conf)$/
const dashes = /^(?:sql|lua|haskell|hs|elm|ada)$/

const token =
  /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)|(\b\d\w*(?:\.\d\w*)*)|([A-Za-z_$][\w$]*)|(\s+)|([^\w\s"'`$]+|["'`$])/g

/** The longest line that is coloured, in characters. */
const longest = 2_000

const commentIn = (text: string, language: string): number => {
  if (hashes.test(language)) return text.search(/(?:^|\s)#/)
  if (dashes.test(language)) return text.indexOf("--")
  if (/^\s*(?:\*|\/\*)/.test(text)) return 0
  return text.search(/(?:^|[^:])\/\//)
}

/** A line of code as runs. The text is escaped. */
export const code = (text: string, language: string, style: Style): ReadonlyArray<Run> => {
  if (text.length > longest || language === "text" || language === "txt") return [{ text, paint: undefined }]
  if (language === "diff" || language === "patch") {
    const paint = text.startsWith("+") ? style.green : text.startsWith("-") ? style.red : undefined
    return [{ text, paint }]
  }
  const from = commentIn(text, language)
  const body = from < 0 ? text : text.slice(0, from)
  // A mark of a comment inside of a string is none.
  const isString = (body.match(/["'`]/g)?.length ?? 0) % 2 === 1
  const [coloured, comment] = isString ? [text, ""] : [body, from < 0 ? "" : text.slice(from)]
  const runs: Array<Run> = []
  let end = 0
  for (const { 0: whole, 1: string, 2: number, 3: word, index } of coloured.matchAll(token)) {
    // What no pattern knows is shown like anything else: a command may not lose a character.
    if (index > end) runs.push({ text: coloured.slice(end, index), paint: undefined })
    end = index + whole.length
    const paint = string !== undefined
      ? style.green
      : number !== undefined
      ? style.magenta
      : word !== undefined && words.has(word)
      ? style.blue
      : undefined
    runs.push({ text: whole, paint })
  }
  if (end < coloured.length) runs.push({ text: coloured.slice(end), paint: undefined })
  return comment === "" ? runs : [...runs, { text: comment, paint: style.dim }]
}
