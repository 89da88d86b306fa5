/** Converts the parts of a prompt that not every API accepts as they are. */
import type { FileContent } from "@skein/core/Provider"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import { fields, parseJson } from "./json.ts"

/** A file's content: text, which every model can read, a URL, or bytes in base64. */
export type FileText =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "url"; readonly url: string }
  | { readonly type: "base64"; readonly base64: string }

/** Reads a file. A `data:` URL counts as its content. */
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

/** The arguments of an earlier call, as an object: servers parse them again and fail on anything else. */
export const argumentsOf = (input: unknown): object => {
  const value = typeof input === "string" ? Option.getOrUndefined(parseJson(input)) : input
  return Array.isArray(value) ? {} : fields(value) ?? {}
}
