/** Decides where the steps of a tree are kept: their repository here, and the one that other hosts reach. */
import type { WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { remoteOf } from "./remoteUrl.ts"
import { refOf } from "./stepCommit.ts"
import { failed, type StepGit, type StepRemote } from "./stepGit.ts"

/** What the keeper is made of. */
export interface KeeperOptions {
  /** Absolute. Workspaces are in `workspaces/ROOT` there, and steps in `steps/ROOT.git`, which no tool sees. */
  readonly dataDirectory: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Whether this host takes up the steps of others. */
  readonly isOn: boolean
  /** The repository that the user of this host names. */
  readonly remote: string | undefined
}

/** Where steps are kept, and git. */
export interface StepPlaces {
  readonly git: StepGit
  readonly isOn: boolean
  /** The repository that the user of this host names. */
  readonly local: string | undefined
  /** The directory for workspaces of a tree. */
  readonly roomOf: (rootID: SessionID) => string
  /** The repository here with the steps of a tree. */
  readonly storeOf: (rootID: SessionID) => string
  /** The repository that other hosts reach; refused if it may not be used. */
  readonly remoteFor: (
    rootID: SessionID,
    workspace: Pick<SessionWorkspace, "remote">
  ) => Effect.Effect<StepRemote, WorkspaceRefused>
}

/** Makes them. */
export const stepPlaces = (
  git: StepGit,
  { dataDirectory, isOn, remote: local }: KeeperOptions
): StepPlaces => {
  const roomOf = (rootID: SessionID) => join(dataDirectory, "workspaces", rootID)
  return {
    git,
    isOn,
    local,
    roomOf,
    storeOf: (rootID) => join(dataDirectory, "steps", `${rootID}.git`),
    remoteFor: (rootID, { remote }) =>
      Effect.suspend(() => {
        const ref = refOf(rootID)
        const found = remoteOf(remote, local)
        if (ref === undefined) return failed(`${rootID} is not the id of a session`)
        return "why" in found
          ? failed(`The repository ${remote} is not used: ${found.why}`)
          : Effect.succeed({ ...found, ref })
      })
  }
}
