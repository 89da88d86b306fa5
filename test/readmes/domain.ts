import { Outcome } from "@skein/domain/Outcome"
import * as Schema from "effect/Schema"

/** Reads the outcome of a task from the output of `--format json`. */
export const readOutcome = Schema.decodeUnknown(Outcome)
