/** Decides which lines of the log people see besides errors, and which they do not. */
import type * as HashMap from "effect/HashMap"
import { has } from "effect/HashMap"

/** Whether a line is annotated as worth knowing for the person, although nothing failed. */
export const isNotice = (annotations: HashMap.HashMap<string, unknown>): boolean => has(annotations, "notice")

/** Whether it is one of the engine of a cluster, which explains faults of Skein. What an operator has to know, Skein says itself. */
export const isEngine = (annotations: HashMap.HashMap<string, unknown>): boolean => has(annotations, "engine")
