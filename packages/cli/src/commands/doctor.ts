/** Declares `skein doctor`. */
import { command } from "../CommandSpec.ts"
import { databaseFlags, directoryFlags, formatFlags, verboseFlags } from "../internal/sharedFlags.ts"

/** Checks what Skein needs. */
export const doctor = command({
  name: "doctor",
  summary: "Checks what Skein needs, and how to get what is missing",
  flags: { ...formatFlags, ...directoryFlags, ...databaseFlags, ...verboseFlags },
  load: () => import("../internal/doctor/execute.ts").then(({ executeDoctor }) => executeDoctor)
})
