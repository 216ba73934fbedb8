/** Catches errors that a page throws during rendering. The rest of the app continues, and people can try again. The error is still in the console. */

import { Component, type ReactNode } from "react"
import { useMessages } from "../messages/locale.tsx"
import { Problem } from "./problem.tsx"

interface BoundaryProps {
  readonly children: ReactNode
  /** The page. A new text resets the error. */
  readonly at: string
  /** Whether the heading of the page is lost with its content: the problem is then the heading. */
  readonly heading?: boolean
  /** Shown instead. Default: the problem with a button to try again. */
  readonly fallback?: ReactNode
  /** Called before the content is drawn again. */
  readonly onRetry?: () => void
  /** Called with the error. */
  readonly onError?: (error: unknown) => void
}

/**
 * Whether a file of the app could not be loaded: there is no connection, or a deployment removed the file. Browsers throw a TypeError for a module; for a
 * style the app's bundler throws an error of its own.
 */
const isUnfetched = (error: unknown): boolean =>
  error instanceof Error && /import(?:ed|ing)|preload/i.test(error.message)

const Unfetched = ({ heading }: { readonly heading: boolean }): ReactNode => {
  const t = useMessages()
  const Text = heading ? "h1" : "p"
  return (
    <div className="missing" role="alert">
      <Text>{navigator.onLine ? t.shell.newVersion : t.problem.offline}</Text>
      {/* Browsers cache the failure to load a module, so only a reload helps. Drafts survive it. */}
      <button type="button" className="btn" onClick={() => location.reload()}>{t.shell.reload}</button>
    </div>
  )
}

export class Boundary extends Component<BoundaryProps, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: null }

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error }
  }

  override componentDidCatch(error: unknown): void {
    this.props.onError?.(error)
  }

  override componentDidUpdate(before: BoundaryProps): void {
    if (before.at !== this.props.at && this.state.error !== null) this.setState({ error: null })
  }

  readonly #retry = (): void => {
    this.props.onRetry?.()
    this.setState({ error: null })
  }

  override render(): ReactNode {
    const { children, fallback, heading = false } = this.props
    const { error } = this.state
    if (error === null) return children
    if (fallback !== undefined) return fallback
    return isUnfetched(error)
      ? <Unfetched heading={heading} />
      : <Problem error={error} heading={heading} onRetry={this.#retry} />
  }
}
