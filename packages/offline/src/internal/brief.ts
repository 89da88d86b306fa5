/** Writes the prompt of a survey's subagent, and parses it back. People and other models can follow it as well. */
import { baseName, families, type Family, familyOf } from "./language.ts"
import type { Module } from "./modules.ts"
import type { Part } from "./parts.ts"
import type { Word } from "./words.ts"

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
