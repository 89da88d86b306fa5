/** Explains why a PostgreSQL server refuses connections, and what to change in the URL or on the server. */

/** What is known of the error. */
interface Refusal {
  readonly code: string
  readonly detail: string
}

const certificates = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_TLS/

/** The kinds of refusals: how to recognise each, and what to say. */
const kinds: ReadonlyArray<readonly [is: (refusal: Refusal) => boolean, text: (at: string, detail: string) => string]> =
  [
    [
      // The client itself says so where it would need one.
      ({ detail }) => /password must be a (non-empty )?string|empty password/.test(detail),
      (at, detail) =>
        `${at} asks for a password, and there is none (${detail}). Write it into the URL, postgres://USER:PASSWORD@HOST/DATABASE, or set PGPASSWORD.`
    ],
    [
      ({ code, detail }) => code === "28000" && detail.includes("does not exist"),
      (at, detail) =>
        `${at} does not know the user (${detail}). Make it with "createuser", or name another one in the URL.`
    ],
    [
      ({ code, detail }) => code === "28000" && detail.includes("no encryption"),
      (at, detail) =>
        `${at} does not let this user in without TLS (${detail}). Add ?sslmode=verify-full to the URL; with sslmode=no-verify, it trusts any certificate. Or allow the user in pg_hba.conf.`
    ],
    [
      ({ code }) => code === "28000",
      (at, detail) => `${at} does not let this user in from here (${detail}). Allow it in pg_hba.conf of the server.`
    ],
    [
      ({ code, detail }) => code === "28P01" || detail.startsWith("SASL"),
      (at, detail) =>
        `${at} refuses user or password (${detail}). Check both; in the URL, write @ as %40, # as %23, / as %2F, ? as %3F and % as %25.`
    ],
    [
      ({ detail }) => detail.includes("does not support SSL"),
      (at, detail) => `${at} speaks no TLS (${detail}). Remove sslmode from the URL, or turn on ssl at the server.`
    ],
    [
      ({ code }) => certificates.test(code),
      (at, detail) =>
        `The certificate of ${at} is not trusted (${detail}). Name its issuer with &sslrootcert=FILE in the URL; with sslmode=no-verify, any certificate is trusted.`
    ]
  ]

/** Why nobody is accepted; undefined if the error is another one. */
export const whyRefused = (at: string, { code, detail }: Refusal): string | undefined =>
  kinds.find(([is]) => is({ code, detail }))?.[1](at, detail)
