/** Reads JSON of unknown shape, and cleans text: no lone surrogates and no U+0000, which databases and strict parsers refuse. */
import * as Option from "effect/Option"

/** An object of unknown shape. */
export type Fields = Readonly<Record<string, unknown>>

/** The value if it is an object. */
export const fields = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null ? value as Fields : undefined

/** Parses a text if it is JSON. */
export const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

const replacement = "\uFFFD"

/** Text with a replacement character in place of each lone surrogate and each U+0000. */
export const cleanText = (text: string): string => text.replace(/[\uD800-\uDFFF\0]/gu, replacement)

const loneEscapes = /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2})|[^])/g
const loneAndNullEscapes =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(u[dD][89a-fA-F][\da-fA-F]{2}|u0000)|[^])/g

const replaceEscapes = (json: string, escapes: RegExp): string =>
  json.replace(escapes, (all, found: string | undefined) => found === undefined ? all : "\\ufffd")

/**
 * The arguments of a tool call as a model wrote them, which need not be JSON. An escaped `\u0000` stays, so that a tool
 * can refuse a path that holds one.
 */
export const cleanArguments = (json: string): string => {
  const text = cleanText(json)
  return text.includes("\\ud") || text.includes("\\uD") ? replaceEscapes(text, loneEscapes) : text
}

/** The JSON of a request: `JSON.stringify` leaves lone surrogates and U+0000 as escapes that strict servers refuse. */
export const cleanBody = (json: string): string =>
  json.includes("\\ud") || json.includes("\\u0000") ? replaceEscapes(json, loneAndNullEscapes) : json

/**
 * Cleans the deltas of one text. A surrogate pair may be split over two of them, so a leading half at the end of a delta
 * is held back until the next.
 */
export const makeDeltaCleaner = () => {
  let held = ""
  return {
    /** The text that is ready to show; it may be empty. */
    push: (delta: string): string => {
      const text = held + delta
      const last = text.charCodeAt(text.length - 1)
      held = last >= 0xd800 && last <= 0xdbff ? text.slice(-1) : ""
      return cleanText(held === "" ? text : text.slice(0, -1))
    },
    /** The rest, when the text ends. */
    end: (): string => {
      const rest = held === "" ? "" : replacement
      held = ""
      return rest
    }
  }
}
