/** Reads JSON of unknown shape. */
import * as Option from "effect/Option"

/** An object of unknown shape. */
export type Fields = Readonly<Record<string, unknown>>

/** The value if it is an object. */
export const fields = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null ? value as Fields : undefined

/** Parses a text if it is JSON. */
export const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))
