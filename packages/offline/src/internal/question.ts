/** Finds the words that a prompt asks for, and says how well a line fits them. */
import * as Schema from "effect/Schema"
import { baseName, isCode, isGenerated, isTest } from "./project.ts"
import type { Fact } from "./toolbox.ts"

/** A word to search for. A name looks like code, and matches whole words only. */
export const Word = Schema.Struct({ text: Schema.String, name: Schema.Boolean })
type Word = typeof Word.Type

/** Words too common to search for, and those that ask for what every survey reports. */
const common = new Set(
  ("a add an and any anything are as at be been being both bug but by can cannot change could did do does doing done each "
    + "every explain find fix for from get give go had has have hello help her here hi him his how i if in into is it its js "
    + "json just kind know let like list look looking make makes many may md me might more most much must my need no not now "
    + "of off on one only or other our out over please py really see shall she should show so some something such tell than "
    + "thank thanks that the their them then there these they thing things this those through to ts tsx up us use used uses "
    + "using very want was way we were what when where which while who whose why will with within without work works would "
    + "write yes you your "
    + "survey surveys overview summary summarise summarize describe description analyse analyze review explore map inspect "
    + "repository repositories repo project projects codebase code source sources directory directories folder folders file "
    + "files tree entry entries entrypoint entrypoints point points module modules package packages dependency dependencies "
    + "import imports size sizes lines todo todos fixme fixmes open architecture structure structured layout usage usages "
    + "defined definition definitions implemented implementation called name named line evidence report main").split(
      " "
    )
)

const mostWords = 6

/** Whether a prompt asks for entry points. */
export const asksForEntry = (prompt: string): boolean =>
  /\bentry|\bentrypoint|\bmain\b|\bstarts?\b|\bbegins?\b|\blaunch/i.test(prompt)

/** The words of a prompt, names first; empty if it asks for a survey only. */
export const wordsOf = (prompt: string): ReadonlyArray<Word> => {
  const quoted = [...prompt.matchAll(/[`"“']([^`"“”'\n]{2,60})[`"”']/g)].map((match) => (match[1] ?? "").trim())
  const codes = [...prompt.matchAll(/[A-Za-z_$][\w$]*/g)].map(([word]) => word).filter((word) =>
    /[a-z0-9][A-Z]|\w_\w|\$/.test(word)
  )
  const names = [...new Set([...quoted, ...codes])]
  const parts = new Set(names.flatMap((name) => name.toLowerCase().split(/[^\p{L}\p{N}_]+/u)))
  const words = [...prompt.matchAll(/[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]+/gu)].flatMap((match): ReadonlyArray<Word> => {
    const text = match[0].replace(/-+$/, "")
    const isDull = common.has(text.toLowerCase()) || /^\d+$/.test(text) || text.length < 2
    return isDull || parts.has(text.toLowerCase())
      ? []
      : [{ text, name: /^[A-Z](?![A-Z]+$)/.test(text) && match.index > 0 }]
  })
  const all = [...names.map((text) => ({ text, name: true })), ...words]
  return [...new Map(all.map((word) => [word.text.toLowerCase(), word])).values()]
    .toSorted((a, b) => Number(b.name) - Number(a.name) || (a.name ? 0 : b.text.length - a.text.length))
    .slice(0, mostWords)
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** What to look for; a plural finds the singular too. */
const sought = ({ name, text }: Word): string =>
  !name && /[^s]s$/.test(text) && text.length > 3 ? text.slice(0, -1) : text

/** The pattern that matches any of the words, in any case. */
export const searchPattern = (words: ReadonlyArray<Word>): string => `(?i)(${words.map(sought).map(escape).join("|")})`

/** Whether a text contains a word, possibly in a name: `cli` is in `runCli` and `cli-entry`, and not in `client`. */
const hasWord = (text: string, word: string): boolean => {
  const lower = text.toLowerCase()
  for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1)) {
    const [before = " ", first = " "] = [text[at - 1], text[at]]
    const [after = " ", next = " "] = [text[at + word.length], text[at + word.length + 1]]
    const begins = !/\p{L}/u.test(before) || (/\p{Ll}/u.test(before) && /\p{Lu}/u.test(first))
    // A longer word may begin with it: then it mostly belongs to it.
    const ends = word.length > 4 || !/\p{Ll}/u.test(after) || (after === "s" && !/\p{Ll}/u.test(next))
    if (begins && ends) return true
  }
  return false
}

/** How well a line matches; 0 if it does not. */
export const fit = (at: Fact, words: ReadonlyArray<Word>): number => {
  if (isGenerated(at.path) || at.text.trim() === "") return 0
  let score = 0
  for (const word of words) {
    const text = sought(word).toLowerCase()
    const whole = `(?<![\\w$])${escape(text)}(?![\\w$])`
    if (!(word.name ? new RegExp(whole, "i").test(at.text) : hasWord(at.text, text))) continue
    const defines =
      `\\b(function\\*?|class|interface|type|enum|const|let|var|namespace|def|func|struct|trait|fn|module)\\s+(\\([^)]*\\)\\s*)?${whole}`
    score += hasWord(baseName(at.path), text) ? 3 : hasWord(at.path, text) ? 1 : 0
    score += (word.name ? 6 : 4) + (at.text.includes(word.text) ? 1 : 0) +
      (new RegExp(defines, "i").test(at.text) ? 6 : 0)
  }
  if (score === 0) return 0
  const isImport = /^\s*(import|from|\}\s*from)\b/.test(at.text)
  return Math.max(1, score - (isImport ? 2 : 0) + (isCode(at.path) ? 2 : 0) - (isTest(at.path) ? 3 : 0))
}
