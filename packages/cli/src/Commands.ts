/** Owns the list of commands. Each is loaded when it is called, or when its help is asked for. */
import type { CommandEntry } from "./CommandSpec.ts"

/** The commands, in the order of the help. */
export const commands: ReadonlyArray<CommandEntry> = [
  {
    name: "run",
    aliases: ["agent"],
    summary: "Prompts an agent, and prints its answer",
    open: () => import("./commands/run.ts").then(({ run }) => run)
  },
  {
    name: "sessions",
    summary: "Lists, shows, resumes, stops, forks, exports and deletes sessions",
    open: () => import("./commands/sessions.ts").then(({ sessions }) => sessions)
  },
  {
    name: "asks",
    summary: "Lists and answers the questions of agents that wait for you",
    open: () => import("./commands/asks.ts").then(({ asks }) => asks)
  },
  {
    name: "tasks",
    summary: "Lists, shows, steers, stops and awaits tasks; removes worktrees",
    open: () => import("./commands/tasks.ts").then(({ tasks }) => tasks)
  },
  {
    name: "agents",
    summary: "Lists the agents, and creates new ones",
    open: () => import("./commands/agents.ts").then(({ agents }) => agents)
  },
  {
    name: "commands",
    summary: "Lists the commands: named prompts for `skein run --command`",
    open: () => import("./commands/prompts.ts").then(({ namedPrompts }) => namedPrompts)
  },
  {
    name: "skills",
    summary: "Lists the skills, and the files that cannot be used",
    open: () => import("./commands/prompts.ts").then(({ skills }) => skills)
  },
  {
    name: "models",
    summary: "Lists the models, and updates their limits and prices",
    open: () => import("./commands/models.ts").then(({ models }) => models)
  },
  {
    name: "mcp",
    summary: "Manages the MCP servers of agents, and serves MCP clients",
    open: () => import("./commands/mcp.ts").then(({ mcp }) => mcp)
  },
  {
    name: "permissions",
    summary: "Lists and revokes approvals",
    open: () => import("./commands/permissions.ts").then(({ permissions }) => permissions)
  },
  {
    name: "trust",
    summary: "Lists a project's settings that need your trust; gives and revokes trust",
    open: () => import("./commands/trust.ts").then(({ trust }) => trust)
  },
  {
    name: "serve",
    summary: "Serves all sessions of a database over HTTP",
    open: () => import("./commands/serve.ts").then(({ serve }) => serve)
  },
  {
    name: "cluster",
    summary: "Shows the servers that share a PostgreSQL database",
    open: () => import("./commands/cluster.ts").then(({ cluster }) => cluster)
  },
  {
    name: "acp",
    summary: "Serves an editor that speaks the Agent Client Protocol",
    open: () => import("./commands/serve.ts").then(({ acp }) => acp)
  },
  {
    name: "config",
    summary: "Shows the effective settings, each with its origin",
    open: () => import("./commands/config.ts").then(({ config }) => config)
  },
  {
    name: "init",
    summary: "Creates skein.json for this project, with a schema for editors",
    open: () => import("./commands/setup.ts").then(({ init }) => init)
  },
  {
    name: "doctor",
    summary: "Checks what Skein needs, and how to get what is missing",
    open: () => import("./commands/doctor.ts").then(({ doctor }) => doctor)
  },
  {
    name: "upgrade",
    summary: "Prints the command that installs a newer version",
    open: () => import("./commands/setup.ts").then(({ upgrade }) => upgrade)
  },
  {
    name: "completions",
    summary: "Prints a completion script for a shell",
    open: () => import("./commands/completions.ts").then(({ completions }) => completions(commands))
  }
]

/** What `skein` does on a terminal if no command is named. */
export const session: CommandEntry = {
  name: "session",
  summary: "Opens a session at the terminal",
  open: () => import("./commands/run.ts").then((run) => run.session)
}
