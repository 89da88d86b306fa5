/** Which trees of other runners a runner takes. */
import { expect, it } from "@effect/vitest"
import { Config } from "@skein/core/Config"
import { Governor } from "@skein/core/Governor"
import { Ids, type SessionID } from "@skein/domain/Id"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { makeArrivals } from "../../src/internal/balance.ts"

it.effect.each([true, false])("a runner that takes trees: %s", (takes) =>
  Effect.gen(function*() {
    const taken: Array<SessionID> = []
    const { answer } = yield* makeArrivals({
      takes,
      placeOf: () => Effect.succeed({ _tag: "Here" }),
      takeUp: (rootID) => Effect.sync(() => taken.push(rootID) > 0),
      arrived: () => {}
    })
    const rootID = yield* Effect.flatMap(Ids, (ids) => ids.make("ses"))
    expect(yield* answer({ _tag: "Room", rootID })).toMatchObject({ may: takes })
    expect(yield* answer({ _tag: "Offer", rootID, slots: 1 })).toEqual(takes ? {} : undefined)
    expect(yield* answer({ _tag: "Take", rootID })).toEqual(takes ? {} : undefined)
    expect(taken).toEqual(takes ? [rootID] : [])
  }).pipe(Effect.provide([Layer.provide(Governor.layer, Config.layer({})), Ids.layer])))
