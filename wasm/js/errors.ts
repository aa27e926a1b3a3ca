/** What kind of error it is. These words do not change between versions. */
export type ErrorKind =
  | "config" // a setting, option or argument cannot be as it is given
  | "unknown" // a name of an algorithm, environment or setting is not known
  | "snapshot" // bytes are no snapshot that this version can read
  | "environment" // an environment broke its contract or threw
  | "device" // a device is missing or failed
  | "device-lost" // a GPU is gone; runs go on by themselves from their last snapshot
  | "non-finite" // nothing finite is left to learn from
  | "memory" // more memory is needed than there is; the message says what for, and what lowers it
  | "program" // a traced program was made or used wrongly: a fault of this package, please report it
  | "unsaved" // the state of a session cannot be saved; the message says why
  | "interrupted" // a program was asked to stop
  | "aborted" // an AbortSignal said so
  | "disposed" // the object was disposed of before
  | "internal"; // a fault of this package: please report it

/** What this package throws. `kind` says what kind of error it is; messages may get clearer between versions. */
export class QuickstudyError extends Error {
  /** What kind of error it is; stable between versions. */
  readonly kind: ErrorKind;

  constructor(kind: ErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.kind = kind;
  }
}

/** A setting, option or argument cannot be as it is given. */
export class ConfigError extends QuickstudyError {
  /** The setting, where it is one. */
  readonly key: string | undefined;

  constructor(message: string, options?: ErrorOptions & { key?: string | undefined }) {
    super("config", message, options);
    this.key = options?.key;
  }
}

/** A name is not known. */
export class UnknownNameError extends QuickstudyError {
  /** The name that was given. */
  readonly unknownName: string;
  /** The closest known one, where one is close. */
  readonly suggestion: string | undefined;

  constructor(message: string, unknownName: string, suggestion?: string, options?: ErrorOptions) {
    super("unknown", message, options);
    this.unknownName = unknownName;
    this.suggestion = suggestion;
  }
}

/** Bytes are no snapshot that this version can read. */
export class SnapshotError extends QuickstudyError {}

/** An environment broke its contract or threw; what it threw is the `cause`. */
export class EnvironmentError extends QuickstudyError {}

/** A device is missing or failed. */
export class DeviceError extends QuickstudyError {}

/** Nothing finite is left to learn from. */
export class NonFiniteError extends QuickstudyError {}

/** An AbortSignal said so; its reason is the `cause`. */
export class AbortedError extends QuickstudyError {
  constructor(reason?: unknown) {
    super("aborted", "training was aborted", { cause: reason });
    // As everything that listens to an AbortSignal calls it.
    this.name = "AbortError";
  }
}

/** An error as it crosses from a worker. */
export interface ErrorMessage {
  kind: string;
  message: string;
  key?: string | undefined;
  unknownName?: string | undefined;
  suggestion?: string | undefined;
  /** A description, or the value itself where it can be copied. */
  cause?: unknown;
}

/** What was thrown, as something that can be sent. */
export function describeError(thrown: unknown): ErrorMessage {
  if (!(thrown instanceof Error)) {
    return { kind: "internal", message: String(thrown) };
  }
  const { kind, key, unknownName, suggestion } = thrown as Partial<ErrorMessage>;
  const cause = thrown.cause instanceof Error ? `${thrown.cause.name}: ${thrown.cause.message}` : thrown.cause;
  return { kind: kind ?? "internal", message: thrown.message, key, unknownName, suggestion, cause: copyable(cause) };
}

function copyable(value: unknown): unknown {
  try {
    return structuredClone(value);
  } catch {
    return String(value);
  }
}

/** What was thrown or sent, as an error of this package. */
export function asError(from: unknown): QuickstudyError {
  if (from instanceof QuickstudyError) {
    return from;
  }
  const { kind, message, key, unknownName, suggestion, cause } =
    from instanceof Error ? whole(from) : (from as ErrorMessage);
  const options = cause === undefined ? {} : { cause };
  switch (kind) {
    case "config":
      return new ConfigError(message, { ...options, key });
    case "unknown":
      return new UnknownNameError(message, unknownName ?? "", suggestion, options);
    case "snapshot":
      return new SnapshotError("snapshot", message, options);
    case "environment":
      return new EnvironmentError("environment", message, options);
    case "device":
    case "device-lost":
      return new DeviceError(kind, message, options);
    case "non-finite":
      return new NonFiniteError("non-finite", message, options);
    case "memory":
    case "program":
    case "unsaved":
    case "interrupted":
    case "disposed":
      return new QuickstudyError(kind, message, options);
    default:
      return new QuickstudyError("internal", message, { cause: cause ?? from });
  }
}

/** On the calling thread a cause need not be copied. */
function whole(error: Error): ErrorMessage {
  return { ...describeError(error), cause: error.cause };
}
