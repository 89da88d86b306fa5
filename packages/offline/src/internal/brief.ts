/** Writes the prompt of a survey's subagent, and parses it back; finds the words that a prompt asks for. */
import { baseName, families, type Family, familyOf, isCode, isGenerated, isTest } from "./language.ts"
import type { Module, Part } from "./modules.ts"
import type { SourceLine } from "./toolbox.ts"

/** A word to search for. A name looks like code, and matches whole words only. */
interface Word {
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

/** The task of one subagent. */
export interface Brief {
  readonly label: string
  /** The modules of the part; `files` only if they are listed individually. */
  readonly modules: ReadonlyArray<Module>
  /** The paths of all modules of the project, to name what is imported. */
  readonly all: ReadonlyArray<string>
  readonly families: ReadonlyArray<Family>
  readonly words: ReadonlyArray<Word>
}

const opening = "Survey one part of this project and conclude with facts, each one with its file and line."

/** Folders with more files than this are not listed by file. */
const mostNamed = 60

const familyNames: Readonly<Record<Family, string>> = { js: "TypeScript or JavaScript", python: "Python", go: "Go" }

/** The language families that are present, in a fixed order. */
export const familiesOf = (modules: ReadonlyArray<Module>): ReadonlyArray<Family> => {
  const present = new Set(modules.flatMap((module) => module.files.map(familyOf)))
  return families.filter((family) => present.has(family))
}

/** Writes the prompt. */
export const writeBrief = (part: Part, all: ReadonlyArray<Module>, words: ReadonlyArray<Word>): string => {
  const present = familiesOf(part.modules)
  const item = ({ files, path }: Module): ReadonlyArray<string> =>
    path.endsWith("/*") && files.length <= mostNamed
      ? [`- ${path}, that is:`, ...files.map((file) => `  - ${baseName(file)}`)]
      : [`- ${path}`]
  return [
    opening,
    "",
    `Part: ${part.label}`,
    `Languages: ${
      present.length === 0 ? "none with imports" : present.map((family) => familyNames[family]).join(", ")
    }`,
    ...(words.length === 0
      ? []
      : ["Look for:", ...words.map(({ name, text }) => `- ${name ? "name" : "word"} ${text}`)]),
    "Read only these modules (`a/` is a folder with all below it, `a/*` the files right in it):",
    ...part.modules.flatMap(item),
    "Modules of the whole project, to name what is imported:",
    ...all.map(({ path }) => `- ${path}`),
    "",
    "Report under these headings, one fact a line as `- path:line  fact`: Modules (files, lines, exports, languages), Names,",
    "Purpose, Largest files, Entry points, Imports (`from -> to  xTIMES`), Open TODO and FIXME, Matches, Notes.",
    "Write down what you could not read. Change nothing."
  ].join("\n")
}

/** Parses a prompt; undefined if it is another text. */
export const readBrief = (prompt: string): Brief | undefined => {
  if (!prompt.startsWith(opening)) return undefined
  const modules: Array<{ readonly path: string; readonly files: Array<string> }> = []
  const all: Array<string> = []
  const words: Array<Word> = []
  let label = ""
  let present: ReadonlyArray<Family> = []
  let section: "words" | "modules" | "all" | undefined
  for (const line of prompt.split("\n")) {
    const item = /^- (.+)$/.exec(line)?.[1]
    const nested = /^ {2}- (.+)$/.exec(line)?.[1]
    if (line.startsWith("Part: ")) label = line.slice("Part: ".length)
    else if (line.startsWith("Languages: ")) present = families.filter((family) => line.includes(familyNames[family]))
    else if (line.startsWith("Look for:")) section = "words"
    else if (line.startsWith("Read only these modules")) section = "modules"
    else if (line.startsWith("Modules of the whole project")) section = "all"
    else if (line === "") section = undefined
    else if (section === "words" && item !== undefined) {
      words.push({ name: item.startsWith("name "), text: item.slice("name ".length) })
    } else if (section === "modules" && item !== undefined) {
      modules.push({ path: item.replace(/, that is:$/, ""), files: [] })
    } else if (section === "modules" && nested !== undefined) {
      const module = modules.at(-1)
      const folder = module?.path.slice(0, -1) ?? ""
      module?.files.push(folder === "./" ? nested : `${folder}${nested}`)
    } else if (section === "all" && item !== undefined) all.push(item)
  }
  return {
    label,
    modules: modules.map(({ files, path }) => ({ path, files: /\/\*?$/.test(path) ? files : [path] })),
    all,
    families: present,
    words
  }
}
