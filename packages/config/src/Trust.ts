/** Owns which values of a project's files the user trusts: each value separately, exactly as written. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { resolve } from "node:path"
import { type ConfigOptions, load } from "./ConfigFiles.ts"
import { DataDirs } from "./DataDirs.ts"
import { locateFiles } from "./internal/locateFiles.ts"
import { readTrusted, type Trusted, writeTrusted } from "./internal/weigh.ts"
import { TrustError, type TrustItem } from "./TrustItem.ts"

export type { TrustItem } from "./TrustItem.ts"

const gone = ({ digest, file, key, since, value }: Trusted): TrustItem => ({
  id: digest.slice(0, 12),
  digest,
  key,
  value,
  file,
  state: "gone",
  since
})

/** All that a directory's project holds that needs trust: in its config, commands, skills and instructions. */
const wishes = Effect.fnUntraced(function*(options: ConfigOptions) {
  const { directory, whyNot } = options
  const { grants, origins, settings, widenings } = yield* load(options)
  const [CommandFiles, SkillFiles, InstructionFiles] = yield* Effect.promise(() =>
    Promise.all([import("./CommandFiles.ts"), import("./SkillFiles.ts"), import("./InstructionFiles.ts")])
  )
  const commands = yield* CommandFiles.load(directory, {
    settings,
    origins,
    grants,
    ...(whyNot === undefined ? {} : { whyNot })
  })
  const skills = yield* SkillFiles.load(directory, grants)
  const instructions = yield* InstructionFiles.load(directory, settings.instructions ?? [], grants)
  const all = [widenings, commands.widenings, skills.widenings, instructions.widenings].flat()
  return [...new Map(all.map((item) => [item.digest, item])).values()]
})

/** The values of a directory's project that need trust, and trusted ones that no longer exist. */
export const review = Effect.fn("Trust.review")(function*(options: ConfigOptions) {
  const { directory } = options
  const { config, data } = yield* DataDirs
  const widenings = yield* wishes(options)
  const { root } = yield* locateFiles(directory, config)
  const place = root ?? resolve(directory)
  const past = (yield* readTrusted(data)).trusted.filter(({ digest, file }) =>
    file.startsWith(`${place}/`) && !widenings.some((each) => each.digest === digest)
  )
  return [...widenings, ...past.map(gone)] satisfies ReadonlyArray<TrustItem>
})

/** Trusts values by their ids; fails, and trusts nothing, if one of them cannot be trusted. */
export const allow = Effect.fn("Trust.allow")(function*(options: ConfigOptions, ids: ReadonlyArray<string>) {
  const { data } = yield* DataDirs
  const widenings = yield* wishes(options)
  const chosen = yield* Effect.forEach(ids, (id) => {
    const item = widenings.find((each) => each.id === id)
    if (item === undefined || item.state === "fixed") {
      return new TrustError({
        message: item === undefined
          ? `Nothing here has the id ${id}, or its value has changed. See \`skein trust\`.`
          : `${item.key} (${id}) cannot be trusted. \`skein config\` says why.`
      })
    }
    return Effect.succeed(item)
  })
  const since = yield* Clock.currentTimeMillis
  const { noticed, trusted: before } = yield* readTrusted(data)
  const added = chosen.map(({ digest, file, key, value }): Trusted => ({ digest, file, key, value, since }))
  const digests = new Set(added.map(({ digest }) => digest))
  yield* writeTrusted(data, {
    trusted: [
      // The earlier value in the same place is no longer needed.
      ...before.filter((each) => !added.some(({ file, key }) => each.file === file && each.key === key)),
      ...added
    ],
    noticed: Object.fromEntries(Object.entries(noticed).filter(([digest]) => !digests.has(digest)))
  })
  return chosen
})

/** Remembers of values, as they are now, that the user saw them, or declined to trust them. */
export const notice = Effect.fn("Trust.notice")(function*(
  items: ReadonlyArray<TrustItem>,
  as: NonNullable<TrustItem["noticed"]>
) {
  if (items.length === 0) return
  const { data } = yield* DataDirs
  const { noticed, trusted } = yield* readTrusted(data)
  yield* writeTrusted(data, {
    trusted,
    noticed: { ...noticed, ...Object.fromEntries(items.map(({ digest }) => [digest, as])) }
  })
})

/** Revokes trust by ids, wherever the values are; fails, and changes nothing, if one is not trusted. */
export const revoke = Effect.fn("Trust.revoke")(function*(ids: ReadonlyArray<string>) {
  const { data } = yield* DataDirs
  const { noticed, trusted: before } = yield* readTrusted(data)
  const unknown = ids.find((id) => !before.some(({ digest }) => digest.slice(0, 12) === id))
  if (unknown !== undefined) {
    return yield* new TrustError({
      message: `Nothing with the id ${unknown} is trusted. See \`skein trust\`.`
    })
  }
  const isRevoked = ({ digest }: Trusted) => ids.includes(digest.slice(0, 12))
  yield* writeTrusted(data, { noticed, trusted: before.filter((each) => !isRevoked(each)) })
  return before.filter(isRevoked).map(gone)
})
