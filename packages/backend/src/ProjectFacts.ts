/** Decides what a front end can know about the project of a directory. */
import type { AgentInfo } from "@skein/domain/AgentInfo"
import type { SessionID } from "@skein/domain/Id"
import type { ModelInfo, ModelRef } from "@skein/domain/Model"
import type * as Effect from "effect/Effect"
import type { BackendError } from "./BackendError.ts"

/** Something that a project has by a name, or would have if its file were valid. */
interface Found<A> {
  readonly items: ReadonlyArray<A>
  readonly broken: ReadonlyArray<{ readonly name: string; readonly message: string }>
}

/** A command. */
export interface CommandFact {
  readonly name: string
  readonly description?: string | undefined
  /** The agent that works on it; by default the session's. */
  readonly agent?: string | undefined
  readonly origin: string
}

/** A skill. */
export interface SkillFact {
  readonly name: string
  readonly description: string
  readonly origin: string
}

/** A model; `available` says whether it can be used now. */
export interface ModelFact extends ModelInfo {
  readonly available: boolean
}

/** The effective settings; secrets are hidden. */
export interface ConfigFacts {
  /** Each value with its path, such as `limits.concurrency`, and where it was set. */
  readonly values: ReadonlyArray<{ readonly key: string; readonly value: unknown; readonly origin: string }>
  /** What is ignored or wrong in the files. */
  readonly remarks: ReadonlyArray<string>
}

/** The agents, hidden ones included, and the default one. */
export interface AgentFacts {
  readonly agents: ReadonlyArray<AgentInfo>
  readonly defaultAgent: string
}

/** What the project of a directory has. */
export interface ProjectFacts {
  /** The same for the directory of a session, which another host may have: a cluster asks a server that sees it. */
  readonly of: (session: SessionID) => ProjectFacts
  readonly agents: (directory: string) => Effect.Effect<AgentFacts, BackendError>
  /** The agent with this name. The error lists the agents, or says what is wrong with its file. */
  readonly agent: (directory: string, name: string) => Effect.Effect<AgentInfo, BackendError>
  /** The commands. With `servers`, MCP servers are started, and waited for a few seconds: their prompts are commands. */
  readonly commands: (
    directory: string,
    options?: { readonly servers?: boolean }
  ) => Effect.Effect<Found<CommandFact>, BackendError>
  /** The command that a name refers to; the error says what is wrong with it, or lists the commands. */
  readonly command: (directory: string, name: string) => Effect.Effect<CommandFact, BackendError>
  readonly skills: (directory: string) => Effect.Effect<Found<SkillFact>, BackendError>
  readonly models: (directory: string) => Effect.Effect<ReadonlyArray<ModelFact>, BackendError>
  /**
   * The model of an agent: the requested one, or else the agent's own. Fails if none of them can be used. `isUsual`
   * says that only the available keys chose it.
   */
  readonly modelFor: (
    directory: string,
    wanted: { readonly model?: ModelRef | undefined; readonly agent: string }
  ) => Effect.Effect<{ readonly model: ModelRef | undefined; readonly isUsual: boolean }, BackendError>
  /** The settings of a server's directory. Absent in this process, whose program has the files of config. */
  readonly config?: (directory: string) => Effect.Effect<ConfigFacts, BackendError>
  /** The instructions that all agents of a directory get; undefined if there are none. */
  readonly instructions: (directory: string) => Effect.Effect<string | undefined, BackendError>
}
