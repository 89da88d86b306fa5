import { expect, it } from "@effect/vitest"
import { DataDirs } from "@skein/config/DataDirs"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { userInfo } from "node:os"
import { isAbsolute, resolve } from "node:path"

const dirs = (env: Readonly<Record<string, string>>, options?: { readonly database?: string }) =>
  DataDirs.pipe(
    Effect.provide(DataDirs.layer(options)),
    Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env))))
  )

it.effect("are in the home directory by default", () =>
  Effect.gen(function*() {
    expect(yield* dirs({ HOME: "/h" })).toEqual({
      home: "/h",
      config: "/h/.config/skein",
      data: "/h/.local/share/skein",
      cache: "/h/.cache/skein",
      state: "/h/.local/state/skein",
      database: "/h/.local/share/skein/skein.db",
      spill: "/h/.local/share/skein/spill",
      servers: "/h/.local/share/skein/servers",
      worktrees: "/h/.local/share/skein/worktrees",
      register: "/h/.local/state/skein/places"
    })
  }))

it.effect("follow the XDG variables, unless they are empty or relative", () =>
  Effect.gen(function*() {
    const found = yield* dirs({
      HOME: "/h",
      XDG_CONFIG_HOME: "/c",
      XDG_DATA_HOME: "/d",
      XDG_CACHE_HOME: "",
      XDG_STATE_HOME: "relative"
    })
    expect(found).toMatchObject({
      config: "/c/skein",
      data: "/d/skein",
      database: "/d/skein/skein.db",
      cache: "/h/.cache/skein",
      state: "/h/.local/state/skein"
    })
  }))

it.effect("use the database of --db, then SKEIN_DB", () =>
  Effect.gen(function*() {
    const env = { HOME: "/h", SKEIN_DB: "/e/x.db" }
    expect((yield* dirs(env)).database).toBe("/e/x.db")
    expect((yield* dirs(env, { database: "mine.db" })).database).toBe(resolve("mine.db"))
    expect((yield* dirs({ ...env, SKEIN_DB: "" })).database).toBe("/h/.local/share/skein/skein.db")
    expect((yield* dirs(env, { database: ":memory:" })).database).toBe(":memory:")
    expect((yield* dirs({ ...env, SKEIN_DB: "postgres://db/name" })).database).toBe("postgres://db/name")
    expect((yield* dirs({ ...env, SKEIN_DB: "'postgres://db/name'" })).database).toBe("'postgres://db/name'")
    expect((yield* dirs({ ...env, SKEIN_DB: "\"/e/x.db\"" })).database).toBe("\"/e/x.db\"")
    expect((yield* dirs(env, { database: "it's.db" })).database).toBe(resolve("it's.db"))
  }))

it.effect("use the home of the account without HOME", () =>
  Effect.gen(function*() {
    for (const env of [{}, { HOME: "" }]) {
      const { database, home } = yield* dirs(env)
      expect(home).toBe(userInfo().homedir)
      expect(isAbsolute(database)).toBe(true)
    }
  }))
