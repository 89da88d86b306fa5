/** Owns the list of commands. */
import { acp } from "./commands/acp.ts"
import { agents } from "./commands/agents.ts"
import { asks } from "./commands/asks.ts"
import { cluster } from "./commands/cluster.ts"
import { commands as named } from "./commands/commands.ts"
import { completions } from "./commands/completions.ts"
import { config } from "./commands/config.ts"
import { doctor } from "./commands/doctor.ts"
import { init } from "./commands/init.ts"
import { mcp } from "./commands/mcp.ts"
import { models } from "./commands/models.ts"
import { permissions } from "./commands/permissions.ts"
import { run } from "./commands/run.ts"
import { serve } from "./commands/serve.ts"
import { sessions } from "./commands/sessions.ts"
import { skills } from "./commands/skills.ts"
import { tasks } from "./commands/tasks.ts"
import { trust } from "./commands/trust.ts"
import { upgrade } from "./commands/upgrade.ts"
import type { CommandSpec } from "./CommandSpec.ts"

/** The commands, in the order of the help. */
export const commands: ReadonlyArray<CommandSpec> = [
  run,
  sessions,
  asks,
  tasks,
  agents,
  named,
  skills,
  models,
  mcp,
  permissions,
  trust,
  serve,
  cluster,
  acp,
  config,
  init,
  doctor,
  upgrade,
  completions(() => commands)
]
