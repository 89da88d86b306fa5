/** Extracts the search words of a prompt, and scores lines by them. Plain search, no understanding. */
import { baseName, isCode, isGenerated, isTest } from "./language.ts"
import type { SourceLine } from "./outputs.ts"

/** A word to search for. A name looks like code, and matches whole words only. */
export interface Word {
  readonly text: string
  readonly name: boolean
}

/** What a prompt asks for. */
export interface Question {
  /** Empty if the prompt asks for a survey only. */
  readonly words: ReadonlyArray<Word>
  /** Whether it asks for entry points. */
  readonly entry: boolean
}

/** Words too common to search for. */
const common = new Set(
  ("a add an and any anything are as at be been being both bug but by can cannot change could did do does doing done each "
    + "every explain find fix for from get give go had has have hello help her here hi him his how i if in into is it its js "
    + "json just kind know let like list look looking make makes many may md me might more most much must my need no not now "
    + "of off on one only or other our out over please py really see shall she should show so some something such tell than "
    + "thank thanks that the their them then there these they thing things this those through to ts tsx up us use used uses "
    + "using very want was way we were what when where which while who whose why will with within without work works would "
    + "write yes you your").split(" ")
)

/** Words that ask for what every survey reports. */
const surveying = new Set(
  ("survey surveys overview summary summarise summarize describe description analyse analyze review explore map inspect "
    + "repository repositories repo project projects codebase code source sources directory directories folder folders file "
    + "files tree entry entries entrypoint entrypoints point points module modules package packages dependency dependencies "
    + "import imports size sizes lines todo todos fixme fixmes open architecture structure structured layout usage usages "
    + "defined definition definitions implemented implementation called name named line evidence report main")
    .split(" ")
)

const limit = 6

/** Reads a prompt. */
export const questionOf = (prompt: string): Question => {
  const names = new Set<string>()
  for (const match of prompt.matchAll(/[`"“']([^`"“”'\n]{2,60})[`"”']/g)) names.add((match[1] ?? "").trim())
  for (const match of prompt.matchAll(/[A-Za-z_$][\w$]*/g)) {
    const word = match[0]
    if (/[a-z0-9][A-Z]|\w_\w|\$/.test(word) || /^[A-Z][a-z0-9]+[A-Z]/.test(word)) names.add(word)
  }
  const found = new Map([...names].map((text) => [text.toLowerCase(), { text, name: true }]))
  for (const match of prompt.matchAll(/[\p{L}\p{N}_][\p{L}\p{M}\p{N}_-]+/gu)) {
    const text = match[0].replace(/-+$/, "")
    const plain = text.toLowerCase()
    const known = [...names].some((name) => name.toLowerCase().split(/[^\p{L}\p{N}_]+/u).includes(plain))
    if (known || common.has(plain) || surveying.has(plain) || /^\d+$/.test(plain) || text.length < 2) continue
    found.set(plain, { text, name: /^[A-Z]{2,}$/.test(text) ? false : /^[A-Z]/.test(text) && match.index > 0 })
  }
  const all = [...found.values()]
  const ranked = [
    ...all.filter((word) => word.name),
    ...all.filter((word) => !word.name).toSorted((a, b) => b.text.length - a.text.length)
  ]
  const words = ranked.slice(0, limit)
  return {
    words,
    entry: /\bentry|\bentrypoint|\bmain\b|\bstarts?\b|\bbegins?\b|\blaunch/i.test(prompt)
  }
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")

/** A plural finds the singular too. */
const root = (text: string): string => (/[^s]s$/.test(text) && text.length > 3 ? text.slice(0, -1) : text)

/** The pattern that matches any of the words, in any case. */
export const searchPattern = (words: ReadonlyArray<Word>): string =>
  `(?i)(${words.map(({ name, text }) => escape(name ? text : root(text))).join("|")})`

const lowerCase = /\p{Ll}/u
const upperCase = /\p{Lu}/u

/** Whether a text contains a word, possibly in a name: `cli` is in `runCli` and `cli-entry`, and not in `client`. */
const hasWord = (text: string, sought: string): boolean => {
  const lower = text.toLowerCase()
  for (let at = lower.indexOf(sought); at >= 0; at = lower.indexOf(sought, at + 1)) {
    const before = text[at - 1] ?? " "
    const after = text[at + sought.length] ?? " "
    const begins = !/\p{L}/u.test(before) || (lowerCase.test(before) && upperCase.test(text[at] ?? ""))
    // A longer word may begin with it: then it mostly belongs to it.
    const isPlural = after === "s" && !lowerCase.test(text[at + sought.length + 1] ?? " ")
    const ends = sought.length > 4 || !lowerCase.test(after) || isPlural
    if (begins && ends) return true
  }
  return false
}

const definition = (word: string): RegExp =>
  new RegExp(
    `\\b(function\\*?|class|interface|type|enum|const|let|var|namespace|def|func|struct|trait|fn|module)\\s+(\\([^)]*\\)\\s*)?${
      escape(word)
    }(?![\\w$])`,
    "i"
  )

/** How well a line matches; 0 if it does not. */
export const fit = (at: SourceLine, words: ReadonlyArray<Word>): number => {
  if (isGenerated(at.path)) return 0
  const lower = at.text.toLowerCase()
  const path = at.path.toLowerCase()
  let score = 0
  for (const { name, text } of words) {
    const sought = (name ? text : root(text)).toLowerCase()
    const found = name ? new RegExp(`(?<![\\w$])${escape(sought)}(?![\\w$])`).test(lower) : hasWord(at.text, sought)
    if (!found) continue
    score += hasWord(baseName(at.path), sought) ? 3 : hasWord(path, sought) ? 1 : 0
    score += name ? 6 : 4
    if (at.text.includes(text)) score += 1
    if (definition(sought).test(at.text)) score += 6
  }
  if (score === 0) return 0
  if (/^\s*(import|from|\}\s*from)\b/.test(at.text)) score -= 2
  return Math.max(1, score + (isCode(at.path) ? 2 : 0) - (isTest(at.path) ? 3 : 0))
}
