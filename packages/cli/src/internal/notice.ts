/** Decides which lines of the log people see besides errors, and which they do not. */
import * as Context from "effect/Context"
import type * as HashMap from "effect/HashMap"
import { has } from "effect/HashMap"

/** Whether this process has a log that is read, with lines of the level INFO: by `--verbose`, and in a server. */
export class IsLogged extends Context.Reference<IsLogged>()("@skein/cli/IsLogged", { defaultValue: () => false }) {}

/** Whether a line is annotated as worth knowing for the person, although nothing failed. */
export const isNotice = (annotations: HashMap.HashMap<string, unknown>): boolean => has(annotations, "notice")

/** Whether it is one of the engine of a cluster, which explains faults of Skein. What an operator has to know, Skein says itself. */
export const isEngine = (annotations: HashMap.HashMap<string, unknown>): boolean => has(annotations, "engine")
