/** Decides which tools an agent has by default, and composes the services that they need. */
import type * as FileSystem from "@effect/platform/FileSystem"
import type * as Path from "@effect/platform/Path"
import type { Agent } from "@skein/core/Agent"
import type { Skill } from "@skein/core/Instructions"
import type { Question } from "@skein/core/Question"
import type { Spill } from "@skein/core/Spill"
import type { TodoList } from "@skein/core/TodoList"
import type { AnyTool } from "@skein/core/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeBash } from "./BashTool.ts"
import { makeEdit } from "./EditTool.ts"
import { makeGlob } from "./GlobTool.ts"
import { makeGrep } from "./GrepTool.ts"
import { enterPlace } from "./internal/secretFiles.ts"
import { makeList } from "./ListTool.ts"
import { Network } from "./Network.ts"
import * as NodeOwner from "./NodeOwner.ts"
import { makePatch } from "./PatchTool.ts"
import { Paths } from "./Paths.ts"
import { Processes } from "./Processes.ts"
import { makeQuestion } from "./QuestionTool.ts"
import { makeRead } from "./ReadTool.ts"
import { Ripgrep } from "./Ripgrep.ts"
import { Sandbox } from "./Sandbox.ts"
import { SeenFiles } from "./SeenFiles.ts"
import { Shell } from "./Shell.ts"
import { makeSkill } from "./SkillTool.ts"
import { SpillFiles } from "./SpillFiles.ts"
import { makeTodoRead, makeTodoWrite } from "./TodoTools.ts"
import { makeWebFetch } from "./WebFetchTool.ts"
import { makeWrite } from "./WriteTool.ts"

/** What the tools of all projects of a process share. */
export type Machine = Network | Paths | Processes | Ripgrep | SeenFiles | SpillFiles

/** The services that the tools need. */
export type Workbench = Machine | Shell

/** All built-in tools except those of core. */
export const tools: Effect.Effect<
  ReadonlyArray<AnyTool>,
  never,
  Workbench | Agent | Question | Skill | TodoList | FileSystem.FileSystem
> = Effect.all([
  makeBash,
  makeEdit,
  makeGlob,
  makeGrep,
  makeList,
  makePatch,
  makeQuestion,
  makeRead,
  makeSkill,
  makeTodoRead,
  makeTodoWrite,
  makeWebFetch,
  makeWrite
])

/** Where things are kept, and the environment of this process. Commands get only the part of it that a shell needs. */
export interface Place {
  /** Where long outputs are kept, and which commands run. Absolute. */
  readonly dataDirectory: string
  /** The program's own files and directories, wherever they are. No tool changes them without a person's consent. */
  readonly own?: ReadonlyArray<string>
  /** Files and directories besides the data directory that no tool and no command sees. Absolute. */
  readonly secret?: ReadonlyArray<string>
  /** The register of all programs of Skein of this user, absolute: their files are hidden as well. */
  readonly register?: string
  /** The user's config, absolute. A person is asked before each look at what may hold keys. */
  readonly settings?: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** What a project's commands can access, and how they are confined. */
export interface ShellOptions<E = never> {
  /** More variables that commands get. */
  readonly pass?: ReadonlyArray<string>
  /** More variables that commands get, with their values. */
  readonly set?: Readonly<Record<string, string>>
  /** Variables that no command gets, whatever was allowed: the keys of models. */
  readonly withheld?: ReadonlyArray<string>
  /** How commands are confined; if absent, they are not. */
  readonly sandbox?: Layer.Layer<Sandbox, E>
}

/**
 * What the tools of all projects share on this machine, and the files that keep texts that are too long for a model.
 */
export const layerMachine = (
  { dataDirectory, environment, own = [], register, secret = [], settings }: Place
): Layer.Layer<Machine | Spill, never, FileSystem.FileSystem | Path.Path> =>
  Layer.mergeAll(
    Network.layer({ environment }),
    Paths.layer({
      home: environment["HOME"],
      own: [dataDirectory, ...own, ...secret],
      dataDirectory,
      secret,
      environment,
      ...(register === undefined ? {} : { register }),
      ...(settings === undefined ? {} : { settings })
    }),
    Ripgrep.layer({ environment }),
    register === undefined ? Layer.empty : Layer.effectDiscard(enterPlace(register, { dataDirectory, secret })),
    SeenFiles.layer,
    SpillFiles.layerSpill
  ).pipe(
    Layer.provideMerge(SpillFiles.layer(dataDirectory)),
    Layer.provideMerge(Processes.layer({ dataDirectory, environment, register }).pipe(Layer.provide(NodeOwner.layer)))
  )

/** The shell of one project. */
export const layerShell = <E = never>(
  { environment, pass = [], sandbox = Sandbox.layerNoop, set = {}, withheld = [] }:
    & ShellOptions<E>
    & Pick<Place, "environment">
): Layer.Layer<Shell, E, FileSystem.FileSystem | Processes> =>
  Layer.provide(Shell.layer({ environment, pass, set, withheld }), sandbox)

/** The services that the tools need on this machine, and the files that keep texts that are too long for a model. */
export const layerWorkbench = <E = never>(
  options: Place & ShellOptions<E>
): Layer.Layer<Workbench | Spill, E, FileSystem.FileSystem | Path.Path> =>
  Layer.provideMerge(layerShell(options), layerMachine(options))
