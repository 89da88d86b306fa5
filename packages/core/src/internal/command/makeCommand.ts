/** The service of commands: finds a command, makes its prompt as a fiber of the session, and prompts with it. */
import type { Ids, SessionID } from "@skein/domain/Id"
import { mentionsIn } from "@skein/domain/Mention"
import type { PartInput } from "@skein/domain/Part"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { type CommandRequest, Commands } from "../../Commands.ts"
import type { Journal } from "../../Journal.ts"
import type { Leases } from "../../Leases.ts"
import type { Permission } from "../../Permission.ts"
import { Projects, type ProjectServices } from "../../Projects.ts"
import { Session } from "../../Session.ts"
import { stoppedBefore } from "../../SessionError.ts"
import type { Spill } from "../../Spill.ts"
import { Tools } from "../../Tool.ts"
import type { PromptOptions } from "../../Turn.ts"
import { checkPlace } from "../live/checkPlace.ts"
import type { Live } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { startSideFiber } from "../live/startSideFiber.ts"
import { servicesForLater } from "../traced.ts"
import { attach } from "./attach.ts"
import { withBuiltins } from "./builtins.ts"
import { expand, rawOf } from "./expand.ts"
import { find } from "./find.ts"

type Needs = Ids | Journal | Leases | Permission | SessionTable | Spill

/** Makes the service. */
export const makeCommand = Effect.gen(function*() {
  const projects = yield* Projects
  const table = yield* SessionTable
  const session = yield* Session
  const context = yield* servicesForLater<Needs>()
  const found = (directory: string) =>
    Effect.flatMap(Commands, (commands) => Effect.map(commands.list(directory), withBuiltins))
  const withPrompts = (directory: string, servers: boolean) =>
    Effect.gen(function*() {
      const tools = yield* Tools
      if (servers) yield* tools.commandsReady
      const { broken, commands } = yield* found(directory)
      return { broken, commands: [...commands, ...tools.commands()] }
    })
  const list = (directory: string, { servers = false }: { readonly servers?: boolean } = {}) =>
    Effect.provideService(Projects.use(directory, withPrompts(directory, servers)), Projects, projects)

  const get = (directory: string, name: string) => Effect.flatMap(list(directory), (all) => find(name, all))

  /** Works in a session until that is stopped: what a command runs ends with it. */
  const inSession = <A, E>(id: SessionID, work: (live: Live) => Effect.Effect<A, E, Needs | ProjectServices>) =>
    table.work(id, (live) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*() {
          const { stops } = live.run
          const fiber = yield* Effect.provide(startSideFiber(live, table.inProject(live, work(live))), context)
          const exit = yield* Effect.onInterrupt(restore(Fiber.await(fiber)), () => Fiber.interrupt(fiber))
          if (live.run.stops !== stops || (Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause))) {
            return yield* stoppedBefore(id, "it was prompted")
          }
          return yield* exit
        })
      ))

  const expanded = Effect.fn("Command.expand")(function*(id: SessionID, request: CommandRequest) {
    return yield* inSession(id, (live) =>
      checkPlace(live).pipe(
        Effect.zipRight(found(live.info.directory)),
        Effect.flatMap((all) => find(request.name, all)),
        Effect.flatMap((command) => expand(live, command, request))
      ))
  })

  const run = Effect.fnUntraced(function*(
    id: SessionID,
    request: CommandRequest,
    options: Omit<PromptOptions, "command"> = {},
    also: ReadonlyArray<PartInput> = []
  ) {
    const { agent, model, parts } = yield* expanded(id, request)
    return yield* session.prompt(id, [...parts, ...also], {
      ...options,
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined || options.model !== undefined ? {} : { model }),
      command: { name: request.name, arguments: rawOf(request) }
    })
  })

  return {
    list,
    get,
    expand: expanded,
    run,
    mentioned: (id: SessionID, text: string) => {
      const named = mentionsIn(text)
      const said: PartInput = { type: "text", text }
      return named.length === 0
        ? Effect.succeed([said])
        : inSession(id, (live) => Effect.map(attach(live, named, true), (parts) => [said, ...parts]))
    }
  }
})
