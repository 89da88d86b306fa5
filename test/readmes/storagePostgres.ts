import * as Skein from "@skein/core/Skein"
import * as OpenAi from "@skein/provider/OpenAi"
import * as Postgres from "@skein/storage/Postgres"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Agents with sessions in `DATABASE_URL`: `postgres://user:password@host:5432/database`. */
export const agents = Layer.unwrapEffect(
  Effect.map(
    Config.redacted("DATABASE_URL"),
    (url) => Skein.layer({ provider: OpenAi.layer, storage: Postgres.layer({ url }) })
  )
)
