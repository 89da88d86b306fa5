/** Reads the parts of a prompt that some API would not take as they are. */
import type { FileContent } from "@skein/core/Provider"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import { fields, parseJson } from "./json.ts"

/** What is in a file: text, which every model can read, an address, or bytes in base64. */
export type FileText =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "base64"; readonly base64: string }

/** Looks into a file; a `data:` URL counts as what it holds. */
export const readFile = (part: FileContent): FileText => {
  const inline = /^data:[^,]*?(;base64)?,/.exec(part.data)
  const base64 = inline === null
    ? part.data
    : inline[1] === undefined
    ? Encoding.encodeBase64(decodeURIComponent(part.data.slice(inline[0].length)))
    : part.data.slice(inline[0].length)
  if (inline === null && /^https?:\/\//i.test(part.data)) return { type: "url", url: part.data }
  if (/^text\/|[/+]json$/.test(part.mediaType)) {
    const text = Encoding.decodeBase64String(base64)
    if (Either.isRight(text)) return { type: "text", text: `${part.filename ?? "file"}:\n${text.right}` }
  }
  return { type: "base64", base64 }
}

/** The arguments of an old call: servers parse them again, and fail on what is no object. */
export const argumentsOf = (input: unknown): object => {
  const value = typeof input === "string" ? Option.getOrUndefined(parseJson(input)) : input
  return Array.isArray(value) ? {} : fields(value) ?? {}
}
