// Data of one view. They are fetched when the view is shown and again while it stays. Old data are shown until the new ones are
// there.
import { useEffect, useRef, useState } from "preact/hooks";
import { Failure, get } from "../client";
import { connection } from "../store";

export interface Resource<T> {
  data: T | null;
  failure: Failure | null;
  /** When the request for data was sent. */
  asked: number;
  reload: () => void;
}

/**
 * Fetches a path of the API, unless it is empty, and again every refresh seconds and when stamp changes, but at most once a
 * second.
 */
export function useResource<T>(path: string, refresh = 0, stamp: unknown = ""): Resource<T> {
  const [state, setState] = useState<{ path: string; data: T | null; failure: Failure | null; asked: number }>({ path: "", data: null, failure: null, asked: 0 });
  const [again, setAgain] = useState(0);
  const last = useRef(0);
  const connected = connection.value.state === "live";
  useEffect(() => {
    if (!path) return;
    const abort = new AbortController();
    const fetchIt = () => {
      const asked = (last.current = Date.now());
      get<T>(path, abort.signal).then(
        (data) => setState({ path, data, failure: null, asked }),
        (failure) => {
          if (failure instanceof Failure) setState((old) => ({ path, data: old.path === path ? old.data : null, failure, asked: old.asked }));
        },
      );
    };
    const wait = state.path === path ? Math.max(0, 1000 - (Date.now() - last.current)) : 0;
    const first = setTimeout(fetchIt, wait);
    const timer = refresh ? setInterval(() => !document.hidden && fetchIt(), refresh * 1000) : 0;
    return () => {
      abort.abort();
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [path, refresh, stamp, again, connected]);
  const mine = state.path === path;
  return { data: mine ? state.data : null, failure: mine ? state.failure : null, asked: state.asked, reload: () => setAgain((n) => n + 1) };
}

/** Returns whether the viewport has at least this width. The component is drawn again when that changes. */
export function useWide(pixels: number): boolean {
  const query = `(min-width: ${pixels}px)`;
  const [wide, setWide] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const follow = () => setWide(media.matches);
    media.addEventListener("change", follow);
    return () => media.removeEventListener("change", follow);
  }, [query]);
  return wide;
}
