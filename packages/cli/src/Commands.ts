/** Owns the list of commands. */
import { agents, skills } from "./commands/agents.ts"
import { asks } from "./commands/asks.ts"
import { commands as named } from "./commands/commands.ts"
import { config } from "./commands/config.ts"
import { mcp } from "./commands/mcp.ts"
import { models } from "./commands/models.ts"
import { permissions } from "./commands/permissions.ts"
import { run } from "./commands/run.ts"
import { acp, cluster, serve } from "./commands/serve.ts"
import { sessions } from "./commands/sessions.ts"
import { completions, doctor, init, upgrade } from "./commands/setup.ts"
import { tasks } from "./commands/tasks.ts"
import { trust } from "./commands/trust.ts"
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
