/** The services that runs of tasks need. */
import type { Ids } from "@skein/domain/Id"
import type { Bus } from "../../Bus.ts"
import type { Governor } from "../../Governor.ts"
import type { Journal } from "../../Journal.ts"
import type { Leases } from "../../Leases.ts"
import type { SessionStorage } from "../../SessionStorage.ts"
import type { Spill } from "../../Spill.ts"
import type { SessionTable } from "../live/SessionTable.ts"
import type { SessionRunner } from "../runner/SessionRunner.ts"
import type { Alarms } from "./Alarms.ts"

/** The services for starting, working on and settling a run. */
export type TaskServices =
  | Alarms
  | Bus
  | Governor
  | Ids
  | Journal
  | Leases
  | SessionRunner
  | SessionStorage
  | SessionTable
  | Spill
