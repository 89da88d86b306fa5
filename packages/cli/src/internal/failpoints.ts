/**
 * Lets a test kill the program at a named point, as a crash does: SKEIN_FAILPOINT=NAME:N kills it the N-th time it gets
 * there, and NAME:N:freeze stops it there until it gets SIGCONT.
 */
import { type FailpointName, Failpoints, failpoints } from "@skein/core/Failpoints"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { UsageError } from "../ExitCode.ts"

const isName = (text: string): text is FailpointName => failpoints.some((name) => name === text)

const unknown = (text: string) =>
  new UsageError({
    message: `SKEIN_FAILPOINT needs NAME:N, such as before_provider:2, or NAME:N:freeze, and is ${
      JSON.stringify(text)
    }. It is a switch for tests: unset it. The names are ${failpoints.join(", ")}.`
  })

const striker = (wanted: FailpointName, times: number, signal: NodeJS.Signals) => {
  let left = times
  return {
    hit: (name: FailpointName) => {
      if (name === wanted && --left === 0) process.kill(process.pid, signal)
    }
  }
}

/** A command that is killed where the environment says so. */
export const armed = <A, E, R>(command: Effect.Effect<A, E, R>): Effect.Effect<A, E | UsageError, R> =>
  Effect.flatMap(
    Effect.orElseSucceed(Config.option(Config.string("SKEIN_FAILPOINT")), () => Option.none<string>()),
    Option.match({
      onNone: (): Effect.Effect<A, E | UsageError, R> => command,
      onSome: (text) => {
        const [, name = "", times, freezes] = /^(\w+):([1-9]\d{0,5})(:freeze)?$/.exec(text) ?? []
        return isName(name)
          ? Effect.provideService(
            command,
            Failpoints,
            striker(name, Number(times), freezes === undefined ? "SIGKILL" : "SIGSTOP")
          )
          : unknown(text)
      }
    })
  )
