/** Parses file name patterns as the shell does. */
import { walk } from "@skein/core/Ruleset"
import type { WordPart } from "unbash"
import { plainText } from "./plainText.ts"

/** One segment of a pattern: text, or a matcher. */
interface GlobName {
  readonly text: string
  /** Whether the shell would match a name, or might; `undefined` if the segment is plain text. */
  readonly fits: ((name: string) => boolean) | undefined
}

/** A pattern, segment by segment. The first segment is empty if the pattern begins at the root. */
export type Glob = ReadonlyArray<GlobName>

// No line contains a NUL.
const wild = { many: "\0*", one: "\0?" }

const fit = (signs: ReadonlyArray<string>, name: string): boolean =>
  walk(signs, name, wild.many, (sign: string, character) => sign === wild.one || sign === character)

const isAscii = (name: string): boolean => [...name].every((each) => each < "\u0080")

const nameOf = (marked: string): GlobName => {
  const signs = marked.match(/\0[*?]|[^]/g) ?? []
  if (!signs.some((sign) => sign.length > 1)) return { text: marked, fits: undefined }
  // What counts as one character depends on the locale.
  const loose = signs.map((sign) => sign === wild.one ? wild.many : sign)
  const skipsHidden = signs[0]?.startsWith("\0") === true
  return {
    text: marked.replaceAll("\0", ""),
    fits: (name) => !(skipsHidden && name.startsWith(".")) && fit(isAscii(name) ? signs : loose, name)
  }
}

/** A word as a pattern; `undefined` if it is not one, or if its matches depend on more than the existing files. */
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

/** Whether all matches of a pattern are in a directory that it names, so that no file name is taken for an option. */
export const isAnchored = ([first, ...others]: Glob): boolean =>
  first !== undefined && others.length > 0 && first.fits === undefined && !first.text.startsWith("-")
