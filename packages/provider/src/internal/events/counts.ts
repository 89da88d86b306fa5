/** Token counts as the AI SDK accepts them, whatever the server sent. */
import type { Fields } from "../json.ts"

/** Stands for a missing or unreadable count. A sum with it is negative, which counts as unknown. */
export const noCount = -1e15

/** The counts with these names that are numbers. */
export const numbersIn = (counts: Fields, names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(names.flatMap((name) => typeof counts[name] === "number" ? [[name, counts[name]]] : []))

/** A count that must be there. */
export const countIn = (counts: Fields, name: string): number => {
  const count = counts[name]
  return typeof count === "number" ? count : noCount
}
