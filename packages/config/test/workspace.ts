/** A home, a project and an environment on disk, for the duration of a test. */
import * as FileSystem from "@effect/platform/FileSystem"
import type { ConfigIssue } from "@skein/config/ConfigError"
import { load, type ProviderCheck } from "@skein/config/ConfigFiles"
import { DataDirs } from "@skein/config/DataDirs"
import type { ConfigInfo } from "@skein/domain/ConfigInfo"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { dirname, join } from "node:path"

/** The user's config file in a workspace. */
export const userFile = "home/.config/skein/skein.json"

/** Writes these files (an object as JSON) and returns the directory; `project` is a git repository. */
export const workspace = Effect.fnUntraced(function*(files: Readonly<Record<string, string | Uint8Array | object>>) {
  const fs = yield* FileSystem.FileSystem
  const root = yield* Effect.flatMap(fs.makeTempDirectoryScoped({ prefix: "skein-config-" }), fs.realPath)
  yield* fs.makeDirectory(join(root, "project", ".git"), { recursive: true })
  yield* Effect.forEach(Object.entries(files), ([path, content]) =>
    Effect.andThen(
      fs.makeDirectory(dirname(join(root, path)), { recursive: true }),
      fs.writeFile(
        join(root, path),
        content instanceof Uint8Array
          ? content
          : new TextEncoder().encode(typeof content === "string" ? content : JSON.stringify(content, undefined, 2))
      )
    ))
  return root
})

/** Only these providers exist, besides those that the user has configured. */
export const notIn = (providers: ReadonlyArray<string>): ProviderCheck => (providerID, config) =>
  config !== undefined || providers.includes(providerID)
    ? undefined
    : `there is no provider ${JSON.stringify(providerID)}`

/** The providers that answer here, so that a project may name their models. */
const vendors: ReadonlyArray<string> = ["a", "anthropic", "b", "google", "local", "openai", "p", "x"]

/** Loads the config for a directory of a workspace. */
export const loadIn = (
  root: string,
  options: {
    readonly at?: string
    readonly env?: Readonly<Record<string, string>>
    readonly overrides?: { readonly info: ConfigInfo; readonly origin: string }
    readonly providers?: ReadonlyArray<string>
    readonly vendors?: ReadonlyArray<string>
  } = {}
) =>
  load({
    directory: join(root, options.at ?? "project"),
    vendors: () => Effect.succeed(options.vendors ?? vendors),
    ...(options.overrides === undefined ? {} : { overrides: options.overrides }),
    ...(options.providers === undefined ? {} : { whyNot: notIn(options.providers) })
  }).pipe(
    Effect.provide(DataDirs.layer()),
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map(Object.entries({ HOME: join(root, "home"), ...options.env })))
    )
  )

/** Writes files and loads the config of the project. */
export const loadFiles = (
  files: Parameters<typeof workspace>[0],
  options: Parameters<typeof loadIn>[1] = {}
) => Effect.flatMap(workspace(files), (root) => Effect.map(loadIn(root, options), (loaded) => ({ root, ...loaded })))

/** The faults of files, with paths relative to the workspace: `project/skein.json:2:3 message`. */
export const mistakes = (files: Parameters<typeof workspace>[0], options: Parameters<typeof loadIn>[1] = {}) =>
  Effect.flatMap(workspace(files), (root) =>
    Effect.map(
      Effect.flip(loadIn(root, options)),
      ({ issues }) => issues.map((issue) => formatIssue(root, issue))
    ))

/** The remarks on files without failures: unusable agents, then all warnings with their kind. */
export const remarks = (files: Parameters<typeof workspace>[0], options: Parameters<typeof loadIn>[1] = {}) =>
  Effect.map(loadFiles(files, options), ({ broken, root, warnings }) => [
    ...broken.flatMap(({ issues }) =>
      issues.filter(({ kind }) => kind === undefined).map((issue) => formatIssue(root, issue))
    ),
    ...warnings.map((issue) => `${issue.kind ?? "-"} ${formatIssue(root, issue)}`)
  ])

/** An issue as one line, without the advice on trust, which Trust.test.ts tests. */
export const formatIssue = (root: string, { column, file, line, message }: ConfigIssue): string =>
  `${[file, line, column].filter((part) => part !== undefined).join(":")} ${message}`
    .replaceAll(`${root}/`, "")
    .replace(
      /if you want it, run `skein trust allow [0-9a-f]{12}`, or put it into your own config$/,
      "it may be trusted"
    )
