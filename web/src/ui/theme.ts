import { signal } from "@preact/signals";

export type Theme = "dark" | "light";

const media = matchMedia("(prefers-color-scheme: dark)");
const key = "karpenter-theme";

function current(): Theme {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "dark" || chosen === "light" ? chosen : media.matches ? "dark" : "light";
}

export const theme = signal<Theme>(current());
media.addEventListener("change", () => (theme.value = current()));

export function toggleTheme(): void {
  const next = theme.value === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(key, next);
  } catch {
    // If the browser forbids storage, the choice lasts until the page is closed.
  }
  theme.value = next;
}
