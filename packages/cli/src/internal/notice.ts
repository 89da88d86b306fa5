/** Decides which lines of the log people see besides errors. */
import type * as HashMap from "effect/HashMap"
import { has } from "effect/HashMap"

/** Whether a line is annotated as worth knowing for the person, although nothing failed. */
export const isNotice = (annotations: HashMap.HashMap<string, unknown>): boolean => has(annotations, "notice")
