# Stands in for the CRAN package "assert" where it is not installed: every argument must be logical, without NA and all TRUE.
local({
  if (!nzchar(system.file(package = "assert"))) {
    stand_in <- function(..., msg = NULL) {
      given <- list(...)
      written <- vapply(as.list(substitute(list(...)))[-1], function(part) paste(deparse(part), collapse = " "), "")
      for (k in seq_along(given)) {
        if (!is.logical(given[[k]]) || anyNA(given[[k]]) || !all(given[[k]])) {
          stop(if (is.null(msg)) paste("Failed check:", written[[k]]) else msg, call. = FALSE)
        }
      }
      invisible(TRUE)
    }
    attach(list(assert = stand_in), name = "package:assert", warn.conflicts = FALSE)
  }
})
