/** Reads patterns of names as the shell does. */
import { walk } from "@skein/core/Wildcard"
import type { WordPart } from "unbash"
import { plainText } from "./plainText.ts"

/** One name of a pattern: text, or what fits it. */
interface GlobName {
  readonly text: string
  /** Whether a name is one that the shell would take for it, or perhaps not; `undefined` where it is just its text. */
  readonly fits: ((name: string) => boolean) | undefined
}

/** A pattern, name by name; the first is empty where it begins at the root. */
export type Glob = ReadonlyArray<GlobName>

// No line holds a NUL.
const wild = { many: "\0*", one: "\0?" }

const fit = (signs: ReadonlyArray<string>, name: string): boolean =>
  walk(signs, name, wild.many, (sign: string, character) => sign === wild.one || sign === character)

const isAscii = (name: string): boolean => [...name].every((each) => each < "\u0080")

const nameOf = (marked: string): GlobName => {
  const signs = marked.match(/\0[*?]|[^]/g) ?? []
  if (!signs.some((sign) => sign.length > 1)) return { text: marked, fits: undefined }
  // What one character is, is a matter of the locale.
  const loose = signs.map((sign) => sign === wild.one ? wild.many : sign)
  const skipsHidden = signs[0]?.startsWith("\0") === true
  return {
    text: marked.replaceAll("\0", ""),
    fits: (name) => !(skipsHidden && name.startsWith(".")) && fit(isAscii(name) ? signs : loose, name)
  }
}

/** A word as a pattern; `undefined` where it is none, or one that depends on more than the files that there are. */
export const globOf = (parts: ReadonlyArray<WordPart>): Glob | undefined => {
  let marked = ""
  for (const part of parts) {
    if (part.type === "Glob") {
      if (part.parts?.some(({ text, type }) => type !== "Literal" || text.includes("/")) === true) return undefined
      marked += part.kind === "star" ? wild.many : wild.one
    } else {
      const text = plainText(part)
      if (text === undefined) return undefined
      marked += text
    }
  }
  return marked.includes("\0") && !marked.startsWith("~") ? marked.split("/").map(nameOf) : undefined
}

/** Whether all that fits a pattern lies in a directory that it names, so that no name of a file is taken for more than that. */
export const isAnchored = ([first, ...others]: Glob): boolean =>
  first !== undefined && others.length > 0 && first.fits === undefined && !first.text.startsWith("-")
