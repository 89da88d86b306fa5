import { Outcome } from "@skein/domain/Outcome"
import * as Schema from "effect/Schema"

/** Reads how a task ended, from what `--format json` printed of it. */
export const readOutcome = Schema.decodeUnknown(Outcome)
