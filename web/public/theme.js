// Sets the theme before the first paint. The page itself changes it later.
try {
  const chosen = localStorage.getItem("karpenter-theme");
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage the theme is that of the system.
}
