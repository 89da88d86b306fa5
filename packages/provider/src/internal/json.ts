/** Reads JSON of which nothing is known yet. */
import * as Option from "effect/Option"

/** An object of which nothing is known. */
export type Fields = Readonly<Record<string, unknown>>

/** The value as an object with fields, where it is one. */
export const fields = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null ? value as Fields : undefined

/** What a text says, if it is JSON. */
export const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))
