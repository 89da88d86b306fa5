/**
 * Decides where the steps of a tree are kept: their repository here, and the one that other hosts reach by https or ssh,
 * or as a directory that the user of this host names.
 */
import type { WorkspaceRefused } from "@skein/core/Workspaces"
import type { SessionID } from "@skein/domain/Id"
import type { SessionWorkspace } from "@skein/domain/SessionInfo"
import * as Effect from "effect/Effect"
import { join } from "node:path"
import { failed, refOf, type StepGit, type StepRemote } from "./stepGit.ts"

/** A repository that may be used, or why it may not. */
type Remote =
  | { readonly url: string; readonly protocols: string }
  | { readonly why: string }

/** Longer ones are no addresses. */
const longest = 2_000

const overNetwork = "https:ssh"

const scp = /^(?:[A-Za-z0-9_][\w.+-]*@)?[A-Za-z0-9][\w.-]*:(?![/:]{2}|:|-)[^\s]+$/

const isPlainName = (name: string): boolean => !name.startsWith("-") && !decodeURIComponent(name).startsWith("-")

/** An address with a scheme. What it says of a password stays on this host. */
const withScheme = (written: string): Remote => {
  let url
  try {
    url = new URL(written)
    if (url.hostname === "" || !isPlainName(url.hostname) || !isPlainName(url.username)) throw new Error("no host")
  } catch {
    return { why: "it is no valid URL" }
  }
  if (url.protocol !== "https:" && url.protocol !== "ssh:") {
    return { why: `only https and ssh are used, and it says ${url.protocol.slice(0, -1)}` }
  }
  url.password = ""
  if (url.protocol === "https:") url.username = ""
  return { url: url.href, protocols: overNetwork }
}

/** Checks an address. `local` is the one that the user of this host names: a directory counts only if it is that. */
export const remoteOf = (written: string, local: string | undefined): Remote => {
  // oxlint-disable-next-line no-control-regex -- those that could end a line of a config or a request
  if (written.length > longest || /[\u0000-\u0020\u007F]/.test(written) || written.startsWith("-")) {
    return { why: "it is no address of a repository" }
  }
  if (/^[^/]*::/.test(written)) return { why: "it names a program, which Skein does not run" }
  if (written.startsWith("/") || written.startsWith("file:")) {
    return written === local
      ? { url: written, protocols: "file" }
      : { why: "it is a directory, and `workspace_remote` in the config of the user of this host does not name it" }
  }
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/]/.test(written)) return withScheme(written)
  return scp.test(written) ? { url: written, protocols: overNetwork } : { why: "it is no URL, and no user@host:path" }
}

/** Whether a name is that of a remote, and can be nothing else. */
export const isRemoteName = (name: string): boolean => /^[A-Za-z0-9_][\w.-]*(?:\/[\w.-]+)*$/.test(name)

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
