/** Describes forms of other tools' files and their results. */

/** A set of files, and the result of reading them. */
export interface Shape {
  readonly what: string
  readonly files: Readonly<Record<string, string | Uint8Array>>
  /** `silent`, or the remarks by kind. */
  readonly result: string
  /** An agent that exists. */
  readonly gives?: string
  /** An agent that does not exist. */
  readonly lacks?: string
  /** A rule of the agent, without its action. */
  readonly denies?: string
  /** The rules for all agents. */
  readonly rules?: ReadonlyArray<string>
  /** The commands and skills. */
  readonly names?: ReadonlyArray<string>
  /** The agent of a new session. */
  readonly begins?: string
}

/** An agent of Claude Code with this front matter. */
export const claude = (what: string, front: string, result: string, more: Partial<Shape> = {}): Shape => ({
  what: `agent of Claude Code: ${what}`,
  files: { ".claude/agents/a.md": `---\nname: a\n${front}\n---\nWork.\n` },
  result,
  ...more
})

/** An agent of OpenCode with this front matter. */
export const openCode = (what: string, front: string, result: string, more: Partial<Shape> = {}): Shape => ({
  what: `agent of OpenCode: ${what}`,
  files: { ".opencode/agent/a.md": `---\n${front}\n---\nWork.\n` },
  result,
  ...more
})
