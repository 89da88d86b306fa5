/** Compares and completes the base URLs of APIs. */

/** Whether a base URL leads to the provider's own server. */
export const isOfficial = (baseUrl: string, official: string): boolean =>
  baseUrl === official || (URL.canParse(baseUrl) && new URL(baseUrl).host === new URL(official).host)

/** Adds the version to a base URL without one: other clients of some APIs take the URL without it. */
export const withVersion = (baseUrl: string, version: string): string =>
  /\/v\d\w*\/*$/.test(baseUrl) || !URL.canParse(baseUrl) ? baseUrl : `${baseUrl.replace(/\/+$/, "")}/${version}`
