/** Puts something in the place of what is missing, as long as anybody needs that: what is not there cannot be mounted over. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as NodeFs from "node:fs"

type Kind = "directory" | "file"

const make = (path: string, kind: Kind): void =>
  kind === "directory" ? NodeFs.mkdirSync(path) : NodeFs.closeSync(NodeFs.openSync(path, "wx"))

const remove = (path: string, kind: Kind): void => {
  if (kind === "directory") NodeFs.rmdirSync(path)
  else if (NodeFs.lstatSync(path).size === 0) NodeFs.unlinkSync(path)
}

/** Owns what stands in the place of something else. */
export const makePlaceholders = () => {
  const users = new Map<string, number>()

  const release = (path: string, kind: Kind) =>
    Effect.suspend(() => {
      const left = (users.get(path) ?? 1) - 1
      if (left > 0) {
        users.set(path, left)
        return Effect.void
      }
      users.delete(path)
      // Where something has come into it meanwhile, it is somebody's, and stays.
      return Effect.orElseSucceed(Effect.try(() => remove(path, kind)), () => undefined)
    })

  return {
    has: (path: string): boolean => users.has(path),
    /** Whether it is there now; not where its directory cannot be written. */
    hold: (path: string, kind: Kind): Effect.Effect<boolean, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.try(() => {
          if (!users.has(path)) make(path, kind)
          users.set(path, (users.get(path) ?? 0) + 1)
          return true
        }).pipe(Effect.orElseSucceed(() => false)),
        (isThere) => isThere ? release(path, kind) : Effect.void
      )
  }
}
