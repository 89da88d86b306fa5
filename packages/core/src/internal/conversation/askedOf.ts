/** Parses what a model wrote as the arguments of a call. */
import type { ToolPart } from "@skein/domain/Part"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { isTextNested } from "../../Nesting.ts"

/** Parses JSON. */
export const parseJson = Schema.decodeUnknownEither(Schema.parseJson())

/** What the model wrote for a pending call. */
export const writtenOf = ({ state }: ToolPart): string => state.status === "pending" ? state.input : ""

/** What the model wrote for a call: JSON if it is valid, else the text. */
export const askedOf = (part: ToolPart): unknown => {
  const text = writtenOf(part)
  return isTextNested(text) ? text : Either.getOrElse(parseJson(text), () => text)
}
