/** Splits a template into pieces, once: the values of arguments, commands and files are never expanded again. */
import { mention, pathOf } from "@skein/domain/Mention"
import { placesIn } from "./shellText.ts"

/** A piece of a template. */
export type Piece =
  | { readonly type: "text"; readonly text: string }
  /** All arguments as they were written. */
  | { readonly type: "arguments" }
  /** One argument; the highest place of a template takes all further ones. */
  | { readonly type: "argument"; readonly number: number }
  /** A command line, replaced by its output. */
  | { readonly type: "shell"; readonly text: string }
  /** `@name`, which stays in the text; the name may contain places for arguments. */
  | { readonly type: "mention"; readonly quoted: boolean; readonly path: ReadonlyArray<Piece> }

const places = /\$(?:ARGUMENTS(?!\w)|([1-9]\d{0,8}))/

const pattern = new RegExp(`!\`([^\`]+)\`|${places.source}|${mention.source}`, "gu")

const placePattern = new RegExp(places.source, "g")

const placesOf = (text: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let end = 0
  for (const { 0: whole, 1: number, index } of text.matchAll(placePattern)) {
    pieces.push(
      { type: "text", text: text.slice(end, index) },
      number === undefined ? { type: "arguments" } : { type: "argument", number: Number(number) }
    )
    end = index + whole.length
  }
  return [...pieces, { type: "text", text: text.slice(end) }]
}

/** The pieces of a template, in order. */
const piecesOf = (template: string): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let end = 0
  for (const { 0: whole, 1: shell, 2: number, 3: quoted, 4: bare, index } of template.matchAll(pattern)) {
    pieces.push({ type: "text", text: template.slice(end, index) })
    if (shell !== undefined) pieces.push({ type: "shell", text: shell })
    else if (quoted !== undefined || bare !== undefined) {
      const path = pathOf(quoted, bare)
      if (path !== "") pieces.push({ type: "mention", quoted: quoted !== undefined, path: placesOf(path) })
      if (quoted === undefined) pieces.push({ type: "text", text: whole.slice(path === "" ? 0 : path.length + 1) })
    } else pieces.push(number === undefined ? { type: "arguments" } : { type: "argument", number: Number(number) })
    end = index + whole.length
  }
  return [...pieces, { type: "text", text: template.slice(end) }]
}

/** The places for arguments in some pieces: numbers, and undefined for all of them. */
const placesFor = (pieces: ReadonlyArray<Piece>): ReadonlyArray<number | undefined> =>
  pieces.flatMap((piece) => {
    switch (piece.type) {
      case "arguments":
        return [undefined]
      case "argument":
        return [piece.number]
      case "shell":
        return placesIn(piece.text)
      case "mention":
        return placesFor(piece.path)
      default:
        return []
    }
  })

/** The arguments of a command. */
export interface Given {
  /** As it was written. */
  readonly raw: string
  readonly words: ReadonlyArray<string>
  /** The place that takes all further arguments; 0 if there is none. */
  readonly highest: number
}

/** The text of pieces that need only the arguments. */
export const filled = (pieces: ReadonlyArray<Piece>, given: Given): string =>
  pieces.map((piece) => {
    const { highest, raw, words } = given
    switch (piece.type) {
      case "text":
        return piece.text
      case "arguments":
        return raw
      case "argument":
        return piece.number === highest ? words.slice(highest - 1).join(" ") : words[piece.number - 1] ?? ""
      case "shell":
        return `!\`${piece.text}\``
      case "mention":
        return piece.quoted ? `@"${filled(piece.path, given)}"` : `@${filled(piece.path, given)}`
    }
  }).join("")

/** A template without places for arguments gets them at its end, so that they are not lost. */
export const completed = (
  template: string,
  raw: string
): { readonly pieces: ReadonlyArray<Piece>; readonly highest: number } => {
  const pieces = piecesOf(template)
  const asked = placesFor(pieces)
  const highest = asked.reduce<number>((most, number) => Math.max(most, number ?? 0), 0)
  return asked.length > 0 || raw.trim() === ""
    ? { pieces, highest }
    : { pieces: [...pieces, { type: "text", text: "\n\n" }, { type: "arguments" }], highest }
}
