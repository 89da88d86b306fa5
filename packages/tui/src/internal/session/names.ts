/** Checks the names in a prompt before it is sent: what is meant as a file or an agent, and is neither. */
import * as Effect from "effect/Effect"
import type { SessionHost } from "../../SessionHost.ts"
import type { Facts } from "../model/Facts.ts"

/** The names behind `@`, without the punctuation that follows them. */
const namesIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/(?:^|\s)@([^\s@`]+)/g)].map(([, name = ""]) => name.replace(/[.,;:!?)\]}'"]+$/, ""))

/** Says which name is neither a file nor an agent; undefined where all are known. */
export const missingName = (
  text: string,
  facts: Facts,
  host: SessionHost
): Effect.Effect<string | undefined> =>
  Effect.gen(function*() {
    for (const name of new Set(namesIn(text))) {
      if (name === "" || facts.agents.some((agent) => agent.name === name)) continue
      // A part of a file is named by its lines.
      if (yield* host.exists(facts.directory, name.replace(/[#:]L?\d+(?:-L?\d+)?$/, ""))) continue
      return `@${name} is neither a file nor an agent.`
    }
    return undefined
  })

/** Well-formed text, as models take it. */
export const promptWords = (text: string): string => text.toWellFormed()
