/** Writes and reads the commit of a step: whose it is, which step, and what was checked out. */
import type { SessionID } from "@skein/domain/Id"

/** What the commit says of a step. */
export interface StepCommit {
  readonly rootID: string
  readonly epoch: number
  readonly seq: number
  /** The branch that was checked out; absent if none was. */
  readonly branch: string | undefined
  /** The commit that was checked out; absent if the repository had none. */
  readonly head: string | undefined
  readonly tree: string
}

/** Where the last step of a tree is kept; undefined for what is no id, which could name anything. */
export const refOf = (rootID: SessionID): string | undefined =>
  /^ses_[0-9A-Za-z]+$/.test(rootID) ? `refs/skein/${rootID}` : undefined

/** The message of the commit. */
export const stepMessage = ({ branch, epoch, rootID, seq }: Omit<StepCommit, "head" | "tree">): string =>
  [
    "Files of a session of Skein, as of one of its steps",
    "",
    `Skein-Root: ${rootID}`,
    `Skein-Epoch: ${epoch}`,
    `Skein-Seq: ${seq}`,
    ...(branch === undefined ? [] : [`Skein-Branch: ${branch}`]),
    ""
  ].join("\n")

const count = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/** Whether git takes it as the name of a branch, and as nothing else. */
const isBranch = (name: string): boolean =>
  /^[A-Za-z0-9_][^\s~^:?*[\\\u007F]*$/.test(name) && !/\.\.|@\{|\/\/|\.lock(?:\/|$)|\/\.|[./]$/.test(name)

/** What a commit says, as `git cat-file commit` prints it; undefined if it is not that of a step. */
export const readStep = (text: string): StepCommit | undefined => {
  const end = text.indexOf("\n\n")
  const header = text.slice(0, end).split("\n")
  const body = text.slice(end + 2).split("\n")
  const heads = header.flatMap((line) => /^parent ([0-9a-f]{40})$/.exec(line)?.[1] ?? [])
  const tree = /^tree ([0-9a-f]{40})$/.exec(header[0] ?? "")?.[1]
  const said = (name: string) => body.find((line) => line.startsWith(`Skein-${name}: `))?.slice(name.length + 8)
  const rootID = said("Root")
  const epoch = count(said("Epoch"))
  const seq = count(said("Seq"))
  const branch = said("Branch")
  if (end < 0 || tree === undefined || rootID === undefined || epoch === undefined || seq === undefined) {
    return undefined
  }
  if (heads.length > 1) return undefined
  return {
    rootID,
    epoch,
    seq,
    tree,
    head: heads[0],
    branch: branch !== undefined && isBranch(branch) ? branch : undefined
  }
}
