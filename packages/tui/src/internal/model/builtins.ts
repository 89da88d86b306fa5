/** Owns the commands of a session. */

/** A command. */
export interface BuiltinCommand {
  readonly name: string
  readonly summary: string
  /** What may follow it. */
  readonly takes?: string
}

/** The commands, in the order of the menu. */
export const builtins: ReadonlyArray<BuiltinCommand> = [
  { name: "help", summary: "Shows keys and commands" },
  { name: "new", summary: "Begins a new session" },
  { name: "resume", summary: "Continues another session", takes: "ID" },
  { name: "fork", summary: "Continues in a copy of this session" },
  { name: "rewind", summary: "Goes back to an earlier prompt, in a copy" },
  { name: "model", summary: "Chooses the model", takes: "MODEL" },
  { name: "agent", summary: "Chooses the agent", takes: "NAME" },
  { name: "mode", summary: "Chooses how much may happen without a question", takes: "plan|ask|edits|auto" },
  { name: "compact", summary: "Shortens the conversation that models are sent" },
  { name: "context", summary: "Shows how full the model's context is" },
  { name: "cost", summary: "Shows tokens and money of the tree" },
  { name: "tasks", summary: "Lists the tasks of this session" },
  { name: "tree", summary: "Opens the tree of agents" },
  { name: "agents", summary: "Lists the agents" },
  { name: "commands", summary: "Lists the commands of the project" },
  { name: "skills", summary: "Lists the skills" },
  { name: "mcp", summary: "Lists the MCP servers" },
  { name: "hooks", summary: "Lists the hooks" },
  { name: "permissions", summary: "Lists what was allowed permanently" },
  { name: "config", summary: "Shows the configuration and its origins" },
  { name: "doctor", summary: "Checks the installation" },
  { name: "diff", summary: "Shows the changes in the working directory" },
  { name: "copy", summary: "Copies the last answer" },
  { name: "export", summary: "Writes the session to a file", takes: "FILE" },
  { name: "rename", summary: "Gives the session another title", takes: "TITLE" },
  { name: "quit", summary: "Ends the program" }
]
